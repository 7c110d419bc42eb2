# Completion of floe for bash, from `floe completion bash`.
_floe() {
    local cur=${COMP_WORDS[COMP_CWORD]} ask= word about
    COMPREPLY=()
    while IFS=$'\t' read -r word about; do
        case $word in
        :*) ask=$word ;;
        *) COMPREPLY+=("$word") ;;
        esac
    done < <("${1/#\~/$HOME}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    if [ -z "$ask" ]; then
        return
    fi
    if [ "$cur" = "=" ]; then
        cur=
    fi
    compopt -o filenames 2>/dev/null
    while IFS= read -r word; do
        COMPREPLY+=("$word")
    done < <(
        compgen -d -- "$cur"
        case $ask in
        :configs) compgen -f -X '!*.yaml' -- "$cur"; compgen -f -X '!*.yml' -- "$cur" ;;
        :files) compgen -f -- "$cur" ;;
        esac | while IFS= read -r word; do
            [ -d "$word" ] || printf '%s\n' "$word"
        done
    )
}
complete -F _floe floe
