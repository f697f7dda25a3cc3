"""Well-known names, and ordinary words that only look like names, as data.

Places and organisations are looked up folded; they give a name its type and never make one an entity (spec 6.3).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from mnemond.text.tokens import FUNCTION_WORDS, fold


def _words_gazetteer(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())


def _names(*lines: str) -> frozenset[str]:
    return frozenset(name.strip() for line in lines for name in line.split(",") if name.strip())


LOCATIONS: Final = _names(
    "africa, antarctica, asia, australia, europe, america, north america, south america, latin america",
    "middle east, argentina, austria, bangladesh, belgium, brazil, bulgaria, canada, chile, china, colombia",
    "croatia, cuba, denmark, egypt, england, estonia, ethiopia, finland, france, germany, greece, hungary",
    "iceland, india, indonesia, iran, iraq, ireland, israel, italy, jamaica, japan, kenya, latvia, lithuania",
    "malaysia, mexico, morocco, nepal, netherlands, new zealand, nigeria, norway, pakistan, peru, philippines",
    "poland, portugal, romania, russia, saudi arabia, scotland, serbia, singapore, slovakia, slovenia",
    "south africa, south korea, spain, sri lanka, sweden, switzerland, taiwan, thailand, tunisia, turkey, uk",
    "ukraine, united arab emirates, united kingdom, united states, usa, vietnam, wales, amsterdam, athens",
    "atlanta, austin, bali, bangkok, barcelona, beijing, berlin, bogota, boston, brooklyn, brussels, budapest",
    "buenos aires, cairo, cape town, chengdu, chicago, copenhagen, dallas, delhi, denver, detroit, dubai, dublin",
    "edinburgh, frankfurt, geneva, guangzhou, hamburg, hangzhou, hanoi, havana, helsinki, hong kong, honolulu",
    "houston, istanbul, jakarta, jerusalem, kiev, kyiv, kyoto, lagos, las vegas, lima, lisbon, london",
    "los angeles, madrid, manila, manhattan, melbourne, mexico city, miami, milan, minneapolis, montreal, moscow",
    "mumbai, munich, nairobi, nanjing, nashville, new delhi, new orleans, new york, new york city, osaka, oslo",
    "paris, philadelphia, phoenix, pittsburgh, portland, prague, rio de janeiro, rome, san diego, san francisco",
    "san jose, santiago, sao paulo, seattle, seoul, shanghai, shenzhen, stockholm, sydney, taipei, tallinn",
    "tel aviv, tokyo, toronto, vancouver, venice, vienna, warsaw, washington, wuhan, zurich, silicon valley",
    "alabama, alaska, arizona, arkansas, california, colorado, connecticut, delaware, florida, hawaii, idaho",
    "illinois, indiana, iowa, kansas, kentucky, louisiana, maine, maryland, massachusetts, michigan, minnesota",
    "mississippi, missouri, montana, nebraska, nevada, new hampshire, new jersey, new mexico, north carolina",
    "north dakota, ohio, oklahoma, oregon, pennsylvania, rhode island, south carolina, south dakota, tennessee",
    "texas, utah, vermont, virginia, west virginia, wisconsin, wyoming, 中国, 美国, 英国, 法国, 德国, 日本, 韩国",
    "俄罗斯, 印度, 加拿大, 澳大利亚, 新加坡, 台湾, 香港, 澳门, 北京, 上海, 广州, 深圳, 杭州, 南京, 成都, 武汉",
    "西安, 重庆, 天津, 苏州, 厦门, 青岛, 长沙, 郑州, 东京, 纽约, 伦敦, 巴黎",
)

ORGANIZATIONS: Final = _names(
    "google, alphabet, apple, microsoft, amazon, meta, facebook, netflix, openai, anthropic, deepmind, nvidia",
    "intel, amd, ibm, oracle, sap, salesforce, adobe, cisco, dell, hp, samsung, sony, huawei, tencent, alibaba",
    "baidu, bytedance, xiaomi, tesla, spacex, boeing, airbus, toyota, honda, bmw, uber, lyft, airbnb, paypal",
    "twitter, linkedin, reddit, tiktok, youtube, spotify, walmart, target, starbucks, nike, ikea, disney, nasa",
    "nato, unesco, unicef, fbi, cia, fda, epa, ieee, ietf, iso, w3c, mit, ucla, harvard, stanford, yale",
    "princeton, oxford, cambridge, red cross, united nations, european union, red hat, hashicorp, jetbrains",
    "mozilla, canonical, vmware, shopify, nintendo, amazon web services, 阿里巴巴, 腾讯, 百度, 字节跳动, 华为",
    "小米, 京东, 美团, 清华大学, 北京大学, 谷歌, 微软, 苹果",
)

PLACE_ENDINGS: Final = _words_gazetteer(
    "city town village county island islands lake river mountain mountains mount beach bay valley canyon desert",
    "forest street road avenue boulevard square bridge park airport harbor harbour district province",
)
PLACE_BEGINNINGS: Final = _words_gazetteer(
    "mount lake fort saint san santa port cape",
)
PLACE_SUFFIXES: Final = ("省", "市", "县", "区", "镇", "村", "路", "街", "湖", "山", "岛", "机场")

ORGANIZATION_ENDINGS: Final = _words_gazetteer(
    "inc corp corporation ltd llc gmbh plc company group holdings labs laboratories foundation institute",
    "university college school academy bank hospital clinic association society union committee council agency",
    "ministry department studios technologies systems partners ventures",
)
ORGANIZATION_SUFFIXES: Final = (
    "公司",
    "集团",
    "大学",
    "学院",
    "银行",
    "医院",
    "基金会",
    "研究院",
    "研究所",
    "委员会",
    "协会",
)

SURNAMES: Final = (
    "王李张刘陈杨赵吴周徐孙胡朱郭何罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘蒋蔡余杜叶程苏魏吕丁沈姚卢傅钟姜崔谭廖范汪陆贾韦"
    "邹熊孟秦邱侯薛尹雷龙史陶贺顾毛郝龚邵钱严武戴莫孔"
)
"""Frequent Chinese surnames, without those that begin ordinary words (高 方 金 时 白 黄 于 马 江 石 任 夏)."""

_CALENDAR: Final = _words_gazetteer(
    "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun january",
    "february march april may june july august september october november december jan feb mar apr jun jul aug",
    "sep sept oct nov dec today tomorrow yesterday tonight morning afternoon evening weekend week month year",
    "spring summer autumn fall winter christmas halloween thanksgiving easter valentine valentines ramadan diwali",
    "hanukkah xmas",
)

_PEOPLES: Final = _words_gazetteer(
    "english chinese french german spanish italian japanese korean russian portuguese dutch swedish norwegian",
    "danish finnish polish greek turkish arabic hebrew hindi indian mexican american british canadian australian",
    "african asian european irish scottish brazilian thai vietnamese latin roman western eastern northern",
    "southern christian catholic jewish muslim buddhist",
)

_TALK: Final = _words_gazetteer(
    "hi hey hello bye goodbye thanks thank thx please pls sorry congrats congratulations welcome cheers dear yes",
    "yeah yep yup no nope nah ok okay okey sure well wow whoa woah oh ooh ah aha aw aww awww haha hahaha lol lmao",
    "omg wtf btw imo imho iirc afaik fyi asap tbh idk rip brb ttyl smh jk nvm np ty yw xoxo hmm mmm huh ugh yay",
    "yikes oops gosh god damn dude guys man bro mom mum dad mommy daddy mama papa grandma grandpa sis everyone",
    "everybody someone somebody anyone anybody noone nobody people person user users folks friends team nothing",
    "something anything everything mr mrs ms dr prof sir madam lgtm ptal tldr wip tbd tba na etc vs ie eg re ps",
    "nb cc eod eom am pm ad bc ii iii iv vi vii viii ix xi xii xiii xiv xv xvi xvii xviii xix xx xxi",
)

_SMALL: Final = _words_gazetteer(
    "after again against ago ahead almost alone along already although always among another anyone are around",
    "away back because been before began behind being below best better between beyond bit both bring but came",
    "come could did done down during each early either else enough even ever every except far few first five for",
    "found four full gave get gets getting give given go goes going gone good got great had half hand hard has",
    "have having here high hope how however i'm if in instead into is it its just keep kept kind know last late",
    "later least leave left less let lets like little long look lot lots love low made main make makes making",
    "many maybe mean might mine more most much must my near need never new next nice none nor not now off often",
    "old once one only onto open other others otherwise our out over own part past per put quite rather real",
    "really right run same saw say says see seem seen seven several she should show since six small so some soon",
    "stay still such take taken ten than that the their them then there these they thing things think this those",
    "though three through thus till time to together too took toward try two under unless until up upon us use",
    "used uses using usual very via want was way we went were what when where whether which while who whole whose",
    "why will with within without work would yet you your zero able about above across actually also any as at be",
    "by can cannot do does don eight end nine of on or ours yours hers his him her he me didn doesn isn wasn won",
    "wouldn couldn shouldn hasn haven hadn aren weren ain ll ve big bad hot cold red blue green black white free",
    "live life home day days night job car dog cat baby kid kids fun cool awesome amazing glad happy sad excited",
    "absolutely definitely totally exactly basically currently recently finally usually hopefully especially",
    "unfortunately meanwhile moreover furthermore therefore additionally similarly overall speaking looking",
    "talking",
)

_WORKING: Final = _words_gazetteer(
    "add adds added adding all allow alpha alter and apply assert avoid base basic begin beta block body bool",
    "branch break bug bugs bugfix build built bump call calls cap case cause change changed changes chaos check",
    "clean clear close code commit config copy core create critical cut danger data date dead debug default",
    "delete demo deny dep deps deploy design detail dev dir disable doc docs done draft drop dry dump edit emit",
    "empty enable entry env error errors event exit fail failed fails false fatal feat feature field file files",
    "final fix fixed fixes fixing flag flags flaky force format from func global goal group hack halt head help",
    "hide hint hotfix idea ideas ignore impl import improve include index info init input insert int internal",
    "into issue issues item items join key keys kill lib license limit line link lint list load local lock log",
    "logs loop major manual master max merge merged message meta method migrate min minor misc mock mode module",
    "move moved name names nil nit note notes notice null number object ops option order output owner page panic",
    "param params part pass patch path perf phase plan point post pr prs pre print prod proof pull push query",
    "queue quick read readme ready refactor reject release remove removed rename replace reply report require",
    "reset result retry return returns revert review rewrite role root row rule rules safe save scope script",
    "section select send sent server service session set setup ship skip sort source spec stage start state",
    "static status step steps stop storage store string style summary support sync table tag tags task tasks temp",
    "test tested tests testing text tick todo fixme tool top trace true try type types unit update updated",
    "updates upgrade url urls usage valid value values var verify version view wait warn warning where wontfix",
    "wrap write yaml scratch id ids xxx tbc",
)

_NOUNS: Final = _words_gazetteer(
    "abc accepted art author baby bacteria band bar baz beach bbq bf bff bird birds blockchain boat body book",
    "books boss boy boys brain breakfast brother business buyer camp camping candidate care case center centre",
    "chapter charity chicken child children chocolate christ church city class client clients closes clothes",
    "coach coffee colleague colleagues college communication community company competitor competitors compose",
    "connection consumer contact context cooking country couple course court creator creators credit crew culture",
    "customer customers dad dance dancing deadline department developer developers dial diary dinner diy dj",
    "doctor doctors dog dogs dress earth editor email emotion empathy employee employees employer energy engineer",
    "engineers enthusiasm environment exam examiner example examples exercise expert experts face faith fall fam",
    "family faq farm fashion father fear feedback feeling feelings film fire fish fitness food football freedom",
    "friendship fruit fruits funny game games garden gardening gf girl girls goals grade gratitude growth guitar",
    "gym happiness header headers healing health healthcare heart heaven hell hero history hobby hockey holiday",
    "holidays home honey horse house host human impact industry internet interviewer investor investors joy judge",
    "king ladies lady land language law lawyer lead leader learning letter listen love luck lunch machine magic",
    "mail man market masters math meeting memories memory men mentor mentors mind mistakes mobile money moon",
    "mother movie movies museum music nature neighbor network node nodes nuts ocean office painting paintings",
    "panelists parent parents party passion patience patient pc peace peer peers pets phone photo photos",
    "photography physics piano pizza planning player players poetry police pottery practice pride problem",
    "problems professor progress project quality queen question questions race rain rat reading reality receive",
    "recipe recipes recipient refs relationship research respect resume river road romance running safety school",
    "science scout sea security seller shop sides skill skills sky sleep snow society soccer software song songs",
    "soul soup space spinach sports spouse staff stakeholders star story stress strength student students studies",
    "stuff success sun supervisor swimming tea teacher teachers technology theory therapy tourism town toys trade",
    "traffic train training travel traveling trees trip trust truth tv unity universe unix validator validators",
    "variety vegetables veggies video violin visual vote votes walk war watch water weather web website wedding",
    "weekend wife winner wisdom woman women wood word words worker workers world writer writing xyz yoga youth",
    "zoo follow followup specifically advisory cf foo",
)

ORDINARY: Final = _NOUNS | FUNCTION_WORDS | _CALENDAR | _PEOPLES | _TALK | _SMALL | _WORKING
"""Words, folded, that are no names however they are written: "IT is UP", "from Monday", "by Default"."""

NOT_CAMEL: Final = _words_gazetteer(
    "ToC ToS PhD PhDs kWh mAh pH mRNA tRNA KiB MiB GiB TiB KHz MHz GHz kHz kB dB YoY OKs IDs TVs PCs CDs DVDs",
    "McDonald",
)
"""Abbreviations of small and capital letters that no code has for a name."""


# Other names of the same thing, as data that a user may extend.
#
# A key is a folded name (`mnemond.text.tokens.fold`, blanks single), a value the spelling it stands for. Short forms
# that are also ordinary words or units in technical text ("ts", "node", "tf", "es") are left out.


_SPELLINGS: Final = {
    "Airflow": "apache airflow",
    "AWS": "amazon web services",
    "C#": "csharp|c sharp",
    "C++": "cpp|cplusplus",
    "Elasticsearch": "elastic search|elastic-search",
    "Express": "express.js|expressjs",
    "GitHub Actions": "gh actions|gha",
    "GitHub": "gh",
    "Go": "golang",
    "Google Cloud": "gcp|google cloud platform",
    "Hugging Face": "huggingface",
    "JavaScript": "js|ecmascript",
    "Kafka": "apache kafka",
    "Kubernetes": "k8s|kube",
    "macOS": "mac os|osx|os x",
    "MongoDB": "mongo",
    "Next.js": "nextjs",
    "Node.js": "nodejs|node js",
    "Objective-C": "objc|objective c",
    "PostgreSQL": "postgres|psql|postgre|pgsql|postgre sql",
    "Protocol Buffers": "protobuf|protobufs",
    "Python": "python3|cpython",
    "PyTorch": "torch",
    "RabbitMQ": "rabbit mq",
    "React": "react.js|reactjs",
    "Ruby on Rails": "rails|ror",
    "scikit-learn": "sklearn|scikit learn",
    "Spark": "apache spark",
    "SQL Server": "mssql|ms sql",
    "SQLite": "sqlite3",
    "Tailwind CSS": "tailwind|tailwindcss",
    "TypeScript": "typescriptlang",
    "Visual Studio Code": "vscode|vs code",
    "Vue": "vue.js|vuejs",
    "WebAssembly": "wasm",
    "YAML": "yml",
}


def extended(extra: Mapping[str, str]) -> Mapping[str, str]:
    """`ALIASES` with a user's own aliases, which win where the two disagree.

    `extra` maps any spelling of an alias to the spelling it stands for. Chains are followed to their end, so that one
    look-up resolves a name. Where a built-in alias and the user's would make a circle, the user's stay; a circle
    among the user's own means nothing.
    """
    own = {_key(alias): right for alias, right in extra.items() if _key(alias) and _key(right)}
    links = {**ALIASES, **own}
    for alias in sorted({_key(right) for right in own.values()} & (ALIASES.keys() - own.keys())):
        if _key(_end_of(alias, links)) == alias:
            del links[alias]
    resolved = {alias: _end_of(alias, links) for alias in links}
    return MappingProxyType({alias: right for alias, right in resolved.items() if _key(right) != alias})


def _key(name: str) -> str:
    return " ".join(fold(name).split())


def _end_of(alias: str, links: Mapping[str, str]) -> str:
    right, seen = links[alias], {alias}
    while (key := _key(right)) in links and key not in seen:
        seen.add(key)
        right = links[key]
    return right


def _built_in() -> Mapping[str, str]:
    return MappingProxyType({alias: right for right, forms in _SPELLINGS.items() for alias in forms.split("|")})


ALIASES: Final[Mapping[str, str]] = _built_in()
"""The built-in table: folded alias → the spelling it stands for (spec 6.3)."""


# Technology terms that are entities wherever they stand as a word of their own (spec 6.3), as data.
#
# They are matched case-sensitively, which is what tells "Go" from "go" and "Rust" from "rust". A name usually written
# in small letters as well stands here in both spellings; one that is also an ordinary word (yarn, helm, flask) only
# in the spelling that sets it apart.


def _words_entity_terms(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())


LANGUAGES: Final = _words_entity_terms(
    "Python Python3 python3 CPython cpython PyPy Java JavaScript javascript TypeScript typescript Go Golang",
    "golang Rust C++ C# F# Objective-C Swift Kotlin Scala Clojure Groovy Ruby Perl PHP php Lua LuaJIT Elixir",
    "Erlang Haskell OCaml Fortran COBOL MATLAB Zig Dart Solidity WebAssembly wasm WASM PowerShell Bash bash zsh",
    "Zsh GraphQL graphql SQL PL/pgSQL HTML HTML5 CSS CSS3 XML JSON JSONL NDJSON YAML yaml TOML toml LaTeX",
    "Markdown js Cython Nim Cypher SPARQL XPath XSLT",
)

DATABASES: Final = _words_entity_terms(
    "PostgreSQL postgresql Postgres postgres psql MySQL mysql MariaDB mariadb SQLite sqlite SQLite3 sqlite3",
    "MongoDB mongodb Mongo Redis redis Valkey Memcached memcached Cassandra ScyllaDB DynamoDB dynamodb CouchDB",
    "Couchbase CockroachDB TiDB Neo4j neo4j ArangoDB Elasticsearch elasticsearch OpenSearch Solr Lucene Qdrant",
    "qdrant Milvus milvus Weaviate weaviate Pinecone ChromaDB chromadb LanceDB pgvector FAISS faiss DuckDB duckdb",
    "ClickHouse clickhouse Snowflake BigQuery Redshift InfluxDB TimescaleDB etcd ZooKeeper Zookeeper LevelDB",
    "leveldb goleveldb RocksDB rocksdb BoltDB BadgerDB badgerdb LMDB FTS5 Supabase Firebase Firestore PlanetScale",
)

MESSAGING: Final = _words_entity_terms(
    "Kafka kafka RabbitMQ rabbitmq NATS ActiveMQ ZeroMQ zeromq MQTT mqtt AMQP Celery Sidekiq SQS SNS Airflow",
    "Flink Hadoop HDFS Debezium dbt PySpark Parquet Arrow Databricks",
)

FRAMEWORKS: Final = _words_entity_terms(
    "Django django Flask FastAPI fastapi Starlette aiohttp asyncio Tornado SQLAlchemy sqlalchemy Alembic Pydantic",
    "pydantic msgspec Uvicorn uvicorn Gunicorn gunicorn httpx NumPy numpy pandas Pandas SciPy scipy scikit-learn",
    "sklearn Matplotlib matplotlib Jupyter jupyter PyTorch pytorch TensorFlow tensorflow Keras JAX ONNX",
    "onnxruntime LangChain langchain LlamaIndex Ollama ollama vLLM llama.cpp BERT MiniLM HuggingFace OpenCV CUDA",
    "React React.js ReactJS Redux Preact Vue Vue.js Vuex Nuxt Nuxt.js Angular AngularJS Svelte SvelteKit Next.js",
    "NextJS Node.js NodeJS nodejs Express.js NestJS Deno jQuery Electron Tauri Tailwind TailwindCSS Three.js",
    "D3.js Socket.io Spring Hibernate Netty Laravel Symfony Rails Sinatra ASP.NET .NET Blazor Qt tokio Tokio",
    "serde Axum gRPC grpc Protobuf protobuf Thrift Avro OpenAPI Swagger Prisma Flutter",
)

PLATFORMS: Final = _words_entity_terms(
    "AWS S3 EC2 ECS EKS RDS IAM VPC CloudFront CloudFormation CloudWatch GCP GKE Azure Kubernetes kubernetes k8s",
    "K8s k3s Docker docker docker-compose Dockerfile Podman podman containerd Helm Istio Envoy Linkerd Traefik",
    "Nginx nginx NGINX HAProxy Caddy Cloudflare Vercel Netlify Heroku DigitalOcean Terraform terraform OpenTofu",
    "Pulumi Ansible ansible Vagrant Packer Consul Prometheus prometheus Grafana grafana Loki Jaeger OpenTelemetry",
    "Datadog Sentry Kibana Logstash Splunk PagerDuty Linux linux Ubuntu Debian CentOS RHEL Fedora Alpine NixOS",
    "FreeBSD macOS iOS Android Windows WSL WSL2 systemd systemctl LLVM clang gcc GCC glibc musl eBPF QEMU KVM",
)

TOOLS: Final = _words_entity_terms(
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

PROTOCOLS: Final = _words_entity_terms(
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

ORDINARY_AT_START: Final = _words_entity_terms(
    "Go Rust React Spring Swift Ruby Hypothesis Arrow Express Rails Windows Parcel Cargo Poetry Cursor Alpine",
    "Envoy Helm Loki Ninja Slack Stripe Perl Electron Snowflake Flutter Claude Yarn Consul",
)
"""Terms that are ordinary words or names too: at the start of a sentence, they say nothing."""

TERMS: Final = LANGUAGES | DATABASES | MESSAGING | FRAMEWORKS | PLATFORMS | TOOLS | PROTOCOLS
"""Every term of one word."""

ERROR_NAMES: Final = _words_entity_terms(
    "EACCES EADDRINUSE EADDRNOTAVAIL EAGAIN EBADF EBUSY ECHILD ECONNABORTED ECONNREFUSED ECONNRESET EEXIST EFAULT",
    "EFBIG EHOSTUNREACH EINTR EINVAL EISDIR ELOOP EMFILE EMSGSIZE ENAMETOOLONG ENETUNREACH ENFILE ENOBUFS ENODEV",
    "ENOENT ENOEXEC ENOLCK ENOMEM ENOSPC ENOSYS ENOTCONN ENOTDIR ENOTEMPTY ENOTFOUND ENOTSOCK ENOTSUP EPERM EPIPE",
    "ERANGE EROFS ESRCH ETIMEDOUT EWOULDBLOCK EXDEV SIGABRT SIGBUS SIGFPE SIGHUP SIGILL SIGINT SIGKILL SIGPIPE",
    "SIGSEGV SIGTERM OOMKilled CrashLoopBackOff ImagePullBackOff",
)
"""Names of failures that do not end in Error: errno and signals (POSIX), states of a container (Kubernetes)."""

FILE_EXTENSIONS: Final = _words_entity_terms(
    "bash bat c cc cfg cjs cmake conf cpp cs css csv cxx dart db dll erl ex exs go gradle graphql h hcl hpp hs",
    "htm html ini ipynb jar java jl js json jsonl jsx kt kts log lua m4a make md mdx mjs nix onnx parquet pdf pem",
    "php pl pkl png proto ps1 py pyc pyi pyx r rb rs rst sass scala scss sh sql sqlite srt svelte svg swift tar",
    "tex tf tfvars tmpl toml ts tsv tsx txt vue wasm xml xlsx yaml yml zig zip zsh gz jpg jpeg gif docx pptx mp3",
    "mp4",
)
"""Endings by which a name without a slash is known for a file; with a slash any ending will do (spec 6.3)."""

FILE_NAMES: Final = _words_entity_terms(
    ".env .gitignore .dockerignore .editorconfig .npmrc .bashrc .zshrc .profile go.mod go.sum go.work Cargo.lock",
    "yarn.lock poetry.lock uv.lock Gemfile.lock composer.lock flake.lock",
)
"""Files known by their whole name."""

NOT_HANDLES: Final = _words_entity_terms(
    "param params return returns throws raises property classmethod staticmethod dataclass override overload",
    "deprecated media import todo see since author version private protected public internal example link type",
    "typedef default template charset keyframes layer apply include extend mixin supports abstractmethod cached",
    "lru_cache pytest test patch mock app click component injectable autowired bean entity controller service",
    "nullable nonnull latest next beta",
)
"""What follows an at sign in code and comments without being anybody: decorators, tags of documentation, CSS rules."""
