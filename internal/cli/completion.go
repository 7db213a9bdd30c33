package cli

import (
	"fmt"

	"github.com/urfave/cli/v2"
)

// completions are the scripts by shell; each asks the binary itself what may follow.
var completions = map[string]string{
	"bash": `_oarlock() {
  local words=("${COMP_WORDS[@]:0:$COMP_CWORD}") current="${COMP_WORDS[$COMP_CWORD]}"
  [[ $current == -* ]] && words+=("$current")
  COMPREPLY=($(compgen -W "$("${words[@]}" --generate-bash-completion 2>/dev/null | cut -d: -f1)" -- "$current"))
}
complete -o default -F _oarlock oarlock
`,
	"zsh": `#compdef oarlock
_oarlock() {
  local -a options
  local current=${words[-1]}
  if [[ $current == -* ]]; then
    options=("${(@f)$(${words[@]:0:#words[@]-1} $current --generate-bash-completion 2>/dev/null)}")
  else
    options=("${(@f)$(${words[@]:0:#words[@]-1} --generate-bash-completion 2>/dev/null)}")
  fi
  [[ -n $options[1] ]] && _describe values options || _files
}
compdef _oarlock oarlock
`,
	"fish": `complete -c oarlock -f -a '(eval (commandline -opc) --generate-bash-completion 2>/dev/null | string replace -r ":.*" "")'
`,
}

func completionCommand() *cli.Command {
	return &cli.Command{
		Name:        "completion",
		Usage:       "print a completion script for bash, zsh or fish",
		ArgsUsage:   "SHELL",
		Description: "bash: source <(oarlock completion bash)\nzsh:  oarlock completion zsh > \"${fpath[1]}/_oarlock\"\nfish: oarlock completion fish | source",
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1, "a shell"); err != nil {
				return err
			}
			script, ok := completions[c.Args().First()]
			if !ok {
				return misused("no completion for %q; there is bash, zsh and fish", c.Args().First())
			}
			_, err := fmt.Fprint(c.App.Writer, script)
			return err
		},
	}
}
