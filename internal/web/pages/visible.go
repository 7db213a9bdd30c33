package pages

import (
	"fmt"
	"html/template"
	"strings"
	"sync"
	"text/template/parse"

	"oarlock/protocol"
)

// Lines is text whose line breaks stay when it is shown.
type Lines string

// Raw is text that is shown as it is, for fields of a form that send it back: there an escape would become part of it.
type Raw string

// visible is what a template prints of value: a text whoever wrote it, with escapes for what a browser would obey or hide:
// control characters, those that turn the direction of text, and those that take no room.
func visible(value any) any {
	switch v := value.(type) {
	case Lines:
		lines := strings.Split(string(v), "\n")
		for i := range lines {
			lines[i] = visibleText(lines[i])
		}
		return strings.Join(lines, "\n")
	case Raw:
		return string(v)
	case string:
		return visibleText(v)
	case error:
		return visibleText(v.Error())
	case fmt.Stringer:
		return visibleText(v.String())
	}
	return value
}

func visibleText(text string) string { return string(protocol.Visible(nil, []byte(text))) }

// showVisibly lets every value that a template prints go through visible, just before html/template escapes it. So no
// template can forget to.
func showVisibly(tree *parse.Tree) {
	if tree != nil {
		showNodes(tree.Root)
	}
}

func showNodes(list *parse.ListNode) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		switch node := node.(type) {
		case *parse.ActionNode:
			if len(node.Pipe.Decl) == 0 { // what is only remembered is shown later
				node.Pipe.Cmds = append(node.Pipe.Cmds, visibleCommand())
			}
		case *parse.IfNode:
			showNodes(node.List)
			showNodes(node.ElseList)
		case *parse.RangeNode:
			showNodes(node.List)
			showNodes(node.ElseList)
		case *parse.WithNode:
			showNodes(node.List)
			showNodes(node.ElseList)
		}
	}
}

// visibleCommand is the last part of {{. | visible}}.
func visibleCommand() *parse.CommandNode { return pattern().Copy().(*parse.CommandNode) }

var pattern = sync.OnceValue(func() *parse.CommandNode {
	t := template.Must(template.New("").Funcs(template.FuncMap{"visible": visible}).Parse("{{. | visible}}"))
	pipe := t.Tree.Root.Nodes[0].(*parse.ActionNode).Pipe
	return pipe.Cmds[len(pipe.Cmds)-1]
})
