"""Technology terms that are entities wherever they stand as a word of their own (spec 6.3), as data.

They are matched case-sensitively, which is what tells "Go" from "go" and "Rust" from "rust". A name usually written in
small letters as well stands here in both spellings; one that is also an ordinary word (yarn, helm, flask) only in the
spelling that sets it apart.
"""

from __future__ import annotations

from typing import Final


def _words(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())


LANGUAGES: Final = _words(
    "Python Python3 python3 CPython cpython PyPy Java JavaScript javascript TypeScript typescript Go Golang",
    "golang Rust C++ C# F# Objective-C Swift Kotlin Scala Clojure Groovy Ruby Perl PHP php Lua LuaJIT Elixir",
    "Erlang Haskell OCaml Fortran COBOL MATLAB Zig Dart Solidity WebAssembly wasm WASM PowerShell Bash bash zsh",
    "Zsh GraphQL graphql SQL PL/pgSQL HTML HTML5 CSS CSS3 XML JSON JSONL NDJSON YAML yaml TOML toml LaTeX",
    "Markdown js Cython Nim Cypher SPARQL XPath XSLT",
)

DATABASES: Final = _words(
    "PostgreSQL postgresql Postgres postgres psql MySQL mysql MariaDB mariadb SQLite sqlite SQLite3 sqlite3",
    "MongoDB mongodb Mongo Redis redis Valkey Memcached memcached Cassandra ScyllaDB DynamoDB dynamodb CouchDB",
    "Couchbase CockroachDB TiDB Neo4j neo4j ArangoDB Elasticsearch elasticsearch OpenSearch Solr Lucene Qdrant",
    "qdrant Milvus milvus Weaviate weaviate Pinecone ChromaDB chromadb LanceDB pgvector FAISS faiss DuckDB duckdb",
    "ClickHouse clickhouse Snowflake BigQuery Redshift InfluxDB TimescaleDB etcd ZooKeeper Zookeeper LevelDB",
    "leveldb goleveldb RocksDB rocksdb BoltDB BadgerDB badgerdb LMDB FTS5 Supabase Firebase Firestore PlanetScale",
)

MESSAGING: Final = _words(
    "Kafka kafka RabbitMQ rabbitmq NATS ActiveMQ ZeroMQ zeromq MQTT mqtt AMQP Celery Sidekiq SQS SNS Airflow",
    "Flink Hadoop HDFS Debezium dbt PySpark Parquet Arrow Databricks",
)

FRAMEWORKS: Final = _words(
    "Django django Flask FastAPI fastapi Starlette aiohttp asyncio Tornado SQLAlchemy sqlalchemy Alembic Pydantic",
    "pydantic msgspec Uvicorn uvicorn Gunicorn gunicorn httpx NumPy numpy pandas Pandas SciPy scipy scikit-learn",
    "sklearn Matplotlib matplotlib Jupyter jupyter PyTorch pytorch TensorFlow tensorflow Keras JAX ONNX",
    "onnxruntime LangChain langchain LlamaIndex Ollama ollama vLLM llama.cpp BERT MiniLM HuggingFace OpenCV CUDA",
    "React React.js ReactJS Redux Preact Vue Vue.js Vuex Nuxt Nuxt.js Angular AngularJS Svelte SvelteKit Next.js",
    "NextJS Node.js NodeJS nodejs Express.js NestJS Deno jQuery Electron Tauri Tailwind TailwindCSS Three.js",
    "D3.js Socket.io Spring Hibernate Netty Laravel Symfony Rails Sinatra ASP.NET .NET Blazor Qt tokio Tokio",
    "serde Axum gRPC grpc Protobuf protobuf Thrift Avro OpenAPI Swagger Prisma Flutter",
)

PLATFORMS: Final = _words(
    "AWS S3 EC2 ECS EKS RDS IAM VPC CloudFront CloudFormation CloudWatch GCP GKE Azure Kubernetes kubernetes k8s",
    "K8s k3s Docker docker docker-compose Dockerfile Podman podman containerd Helm Istio Envoy Linkerd Traefik",
    "Nginx nginx NGINX HAProxy Caddy Cloudflare Vercel Netlify Heroku DigitalOcean Terraform terraform OpenTofu",
    "Pulumi Ansible ansible Vagrant Packer Consul Prometheus prometheus Grafana grafana Loki Jaeger OpenTelemetry",
    "Datadog Sentry Kibana Logstash Splunk PagerDuty Linux linux Ubuntu Debian CentOS RHEL Fedora Alpine NixOS",
    "FreeBSD macOS iOS Android Windows WSL WSL2 systemd systemctl LLVM clang gcc GCC glibc musl eBPF QEMU KVM",
)

TOOLS: Final = _words(
    "Git git GitHub GitLab Bitbucket Gerrit Jenkins CircleCI TravisCI ArgoCD Dependabot CodeQL SonarQube Jira",
    "JIRA npm npx pnpm Yarn pip pipx Poetry conda PyPI pypi Cargo Maven Gradle Bazel CMake cmake Ninja Makefile",
    "Homebrew Webpack webpack Vite vite esbuild Rollup Babel Turbopack Parcel ESLint eslint Prettier Biome pytest",
    "unittest tox Hypothesis mypy Pyright pyright Ruff ruff flake8 Pylint pylint isort golangci-lint goreleaser",
    "Clippy clippy rustfmt rustc rustup JUnit Mockito Jest Vitest vitest Mocha Cypress Playwright Puppeteer",
    "Selenium Postman kubectl minikube curl wget rsync OpenSSH openssl OpenSSL tmux vim Vim Neovim neovim Emacs",
    "emacs VSCode vscode IntelliJ PyCharm Xcode valgrind gdb lldb strace perf awk sed jq grep ripgrep ffmpeg",
    "FFmpeg ImageMagick pre-commit Claude ChatGPT Copilot Codex Anthropic OpenAI MCP Cursor Slack Figma Keycloak",
    "Auth0 Okta Stripe Twilio",
)

PROTOCOLS: Final = _words(
    "HTTP HTTPS HTTP/2 HTTP/3 REST RESTful SOAP RPC JSON-RPC TCP UDP TCP/IP IPv4 IPv6 DNS DHCP SMTP IMAP FTP SFTP",
    "SSH ssh TLS SSL mTLS QUIC WebSocket WebSockets websocket WebRTC OAuth OAuth2 OIDC SAML JWT JWTs LDAP",
    "Kerberos CORS CSRF XSS CI/CD UTF-8 ASCII Unicode Base64 base64 SHA-1 SHA-256 SHA256 MD5 HMAC AES RSA Ed25519",
    "ed25519 secp256k1 bcrypt BM25 HNSW CRDT CRDTs BGP gzip zstd Zstd P2P UUID",
)

PHRASES: Final = (
    "Amazon Web Services",
    "Apache Airflow",
    "Apache Kafka",
    "Apache Spark",
    "Azure DevOps",
    "Claude Code",
    "GitHub Actions",
    "GitLab CI",
    "Google Cloud",
    "Hugging Face",
    "Material UI",
    "Protocol Buffers",
    "React Native",
    "React Query",
    "Ruby on Rails",
    "SQL Server",
    "Spring Boot",
    "Tailwind CSS",
    "VS Code",
    "Visual Studio",
    "Visual Studio Code",
)
"""Terms of several words; each begins with a capital."""

ORDINARY_AT_START: Final = _words(
    "Go Rust React Spring Swift Ruby Hypothesis Arrow Express Rails Windows Parcel Cargo Poetry Cursor Alpine",
    "Envoy Helm Loki Ninja Slack Stripe Perl Electron Snowflake Flutter Claude Yarn Consul",
)
"""Terms that are ordinary words or names too: at the start of a sentence, they say nothing."""

TERMS: Final = LANGUAGES | DATABASES | MESSAGING | FRAMEWORKS | PLATFORMS | TOOLS | PROTOCOLS
"""Every term of one word."""

ERROR_NAMES: Final = _words(
    "EACCES EADDRINUSE EADDRNOTAVAIL EAGAIN EBADF EBUSY ECHILD ECONNABORTED ECONNREFUSED ECONNRESET EEXIST EFAULT",
    "EFBIG EHOSTUNREACH EINTR EINVAL EISDIR ELOOP EMFILE EMSGSIZE ENAMETOOLONG ENETUNREACH ENFILE ENOBUFS ENODEV",
    "ENOENT ENOEXEC ENOLCK ENOMEM ENOSPC ENOSYS ENOTCONN ENOTDIR ENOTEMPTY ENOTFOUND ENOTSOCK ENOTSUP EPERM EPIPE",
    "ERANGE EROFS ESRCH ETIMEDOUT EWOULDBLOCK EXDEV SIGABRT SIGBUS SIGFPE SIGHUP SIGILL SIGINT SIGKILL SIGPIPE",
    "SIGSEGV SIGTERM OOMKilled CrashLoopBackOff ImagePullBackOff",
)
"""Names of failures that do not end in Error: errno and signals (POSIX), states of a container (Kubernetes)."""

FILE_EXTENSIONS: Final = _words(
    "bash bat c cc cfg cjs cmake conf cpp cs css csv cxx dart db dll erl ex exs go gradle graphql h hcl hpp hs",
    "htm html ini ipynb jar java jl js json jsonl jsx kt kts log lua m4a make md mdx mjs nix onnx parquet pdf pem",
    "php pl pkl png proto ps1 py pyc pyi pyx r rb rs rst sass scala scss sh sql sqlite srt svelte svg swift tar",
    "tex tf tfvars tmpl toml ts tsv tsx txt vue wasm xml xlsx yaml yml zig zip zsh gz jpg jpeg gif docx pptx mp3",
    "mp4",
)
"""Endings by which a name without a slash is known for a file; with a slash any ending will do (spec 6.3)."""

FILE_NAMES: Final = _words(
    ".env .gitignore .dockerignore .editorconfig .npmrc .bashrc .zshrc .profile go.mod go.sum go.work Cargo.lock",
    "yarn.lock poetry.lock uv.lock Gemfile.lock composer.lock flake.lock",
)
"""Files known by their whole name."""

NOT_HANDLES: Final = _words(
    "param params return returns throws raises property classmethod staticmethod dataclass override overload",
    "deprecated media import todo see since author version private protected public internal example link type",
    "typedef default template charset keyframes layer apply include extend mixin supports abstractmethod cached",
    "lru_cache pytest test patch mock app click component injectable autowired bean entity controller service",
    "nullable nonnull latest next beta",
)
"""What follows an at sign in code and comments without being anybody: decorators, tags of documentation, CSS rules."""
