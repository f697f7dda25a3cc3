# Completion of mnemonctl for bash. Load it by: eval "$(mnemonctl completion bash)"
_mnemonctl() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("$line")
  done < <(mnemonctl --complete bash "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
}
complete -o default -F _mnemonctl mnemonctl
