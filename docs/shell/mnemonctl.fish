# Completion of mnemonctl for fish. Load it by: mnemonctl completion fish | source
function __mnemonctl_complete
    set -l typed (commandline -opc)
    set -l word (commandline -ct)
    set -l found (mnemonctl --complete fish $typed[2..] "$word" 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path "$word"
    end
end
complete -c mnemonctl -f -a '(__mnemonctl_complete)'
