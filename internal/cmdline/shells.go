package cmdline

import (
	"maps"
	"slices"
)

// scripts are those by shell. Each hands what was typed to the binary as one
// request (see Asked), behind a first word that nobody types: whatever the line
// holds, it is looked at and never run. No script evaluates an answer. What is typed may be an
// alias or a function of the user's, with words of its own: no function is called, and the
// program itself is asked.
var scripts = map[string]string{
	"bash": `_oarlock() {
  local word about typed="${COMP_WORDS[0]/#\~\//$HOME/}"
  [[ $(type -t -- "$typed") == file ]] || typed=oarlock
  COMPREPLY=()
  while IFS=$'\t' read -r word about; do
    if [[ $word == :files ]]; then
      compopt -o default 2>/dev/null
    else
      COMPREPLY+=("$word")
    fi
  done < <(command "$typed" __complete bash "$COMP_WORDBREAKS" "${COMP_LINE:0:$COMP_POINT}" 2>/dev/null </dev/null)
}
complete -F _oarlock oarlock
`,
	"zsh": `#compdef oarlock
_oarlock() {
  local word about typed="${words[1]/#\~\//$HOME/}"
  [[ $(whence -w -- "$typed") == *': '(command|hashed) ]] || typed=oarlock
  local -a names shown
  while IFS=$'\t' read -r word about; do
    if [[ $word == :files ]]; then
      compset -P '--*='
      _files
    else
      names+=("$word")
      shown+=("$word${about:+  -- $about}")
    fi
  done < <(command "$typed" __complete words "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null </dev/null)
  (( $#names )) && compadd -l -d shown -a names
}
if [[ $funcstack[1] == _oarlock ]]; then
  _oarlock "$@"
else
  compdef _oarlock oarlock
fi
`,
	"fish": `function __oarlock_complete
  set -l typed (commandline -opc)
  set -l program (string replace -r '^~/' "$HOME/" -- $typed[1])
  command -q -- "$program"; or set program oarlock
  command $program __complete words $typed[2..-1] (commandline -ct | string unescape; or commandline -ct) 2>/dev/null </dev/null | while read -l line
    if test "$line" = :files
      __fish_complete_path (commandline -ct)
    else
      echo $line
    end
  end
end
complete -c oarlock -f -a '(__oarlock_complete)'
`,
}

// Script is what makes a shell ask us; "" if we have none for it.
func Script(shell string) string { return scripts[shell] }

// Shells are those that have a script.
func Shells() []string { return slices.Sorted(maps.Keys(scripts)) }
