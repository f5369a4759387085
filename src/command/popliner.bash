# Completion for popliner in bash, and in zsh after bashcompinit: of what --help has.
#
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck disable=SC2207
type compopt >/dev/null 2>&1 || compopt() { :; }

# Prints how the help calls the value of an option, then the words that it may be; without an
# option all options.
_popliner_words() {
    "${COMP_WORDS[0]/#\~\//$HOME/}" --help all 2>/dev/null | awk -v option="$1" '
        /^  -/ {
            has_letter = $1 ~ /,$/
            name = has_letter ? $2 : $1
            is_own = $1 == option || $1 == option "," || $2 == option
            if (is_own && $NF != name) print $NF
            names = names "\n" (option != "" ? substr(name, 3) : has_letter ? $1 $2 : name)
        }
        is_own && /^        [^ ]/ && match($1, /^([a-z]|1f)[a-z0-9.-]*/) {
            rest = substr($1, RLENGTH + 1)
            if (rest ~ /^([:=][A-Z].*|\[.*)?$/)
                print substr($1, 1, RLENGTH + (rest ~ /^[:=]/))
        }
        END { if (option ~ /^(|--help|-h)$/) { gsub(",", "\n", names); print names } }'
}

_popliner() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} taken='' told value
    local IFS=$' \n'
    COMPREPLY=()
    # bash takes --option=value apart
    if [[ $word == '=' ]]; then
        word=
    elif [[ $before == '=' && $COMP_CWORD -ge 2 ]]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    [[ $before == -?* ]] && told=$(_popliner_words "$before")
    value=${told%%$'\n'*} told=${told#"$value"}
    [[ $value == '[TOPIC]' && $word == -* ]] && value=
    case $value in
    '' | FILE | OLD | DIR)
        compopt -o filenames
        COMPREPLY=($(compgen -f -- "$word"))
        [[ -z $value && $word == -* ]] && COMPREPLY=($(compgen -W "$(_popliner_words)" -- "$word"))
        ;;
    *)
        [[ $value == *,* && $word == *,* ]] && taken=${word%,*},
        [[ $value$told == *[,:=]* ]] && compopt -o nospace
        COMPREPLY=($(compgen -P "$taken" -W "$told" -- "${word#"$taken"}"))
        ;;
    esac
}
complete -F _popliner popliner
