# Completion of floe for fish, from `floe completion fish`.
function __floe_complete
    set -l words (commandline -opc)
    set -l last (commandline -ct)
    for line in ($words[1] __complete $words[2..-1] "$last" 2>/dev/null)
        switch $line
            case ':configs'
                __fish_complete_directories "$last" ''
                for file in $last*.yaml $last*.yml
                    test -f $file; and echo $file
                end
            case ':files'
                __fish_complete_path "$last"
            case ':folders'
                __fish_complete_directories "$last" ''
            case '*'
                echo $line
        end
    end
end
complete -c floe -f -a '(__floe_complete)'
