#compdef floe
# Completion of floe for zsh, from `floe completion zsh`.
_floe() {
    local line ask
    local -a found
    for line in "${(@f)$("${(Q)words[1]/#\~/$HOME}" __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
        case $line in
        '') ;;
        :*) ask=$line ;;
        *$'\t'*) found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
        *) found+=("${line//:/\\:}") ;;
        esac
    done
    if (( $#found )); then
        _describe floe found
    fi
    if [[ $words[CURRENT] == --*=* ]]; then
        compset -P '*='
    fi
    case $ask in
    :configs) _files -g '*.(yaml|yml)' ;;
    :files) _files ;;
    :folders) _files -/ ;;
    esac
}
if [[ $funcstack[1] == _floe ]]; then
    _floe "$@"
else
    compdef _floe floe
fi
