package pages

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
)

// Live is what changes by itself on a page that Write gave: the texts and attributes of its elements that say
// data-live="KEY", by KEY and by KEY.ATTRIBUTE; data-attrs names the attributes, and "text" beside them. Of a list
// (data-list="NAME") the text "list:NAME" has the keys of its rows, and of rows that stay where they are
// (data-rows="NAME") "rows:NAME" has the print by which a browser sees that others would be there now.
//
// It is read from the page itself, so that what changes in a browser is what a reload would show.
func Live(page []byte) (texts, attributes map[string]string) {
	l := live{texts: map[string]string{}, attributes: map[string]string{}}
	in := html.NewTokenizer(bytes.NewReader(page))
	for {
		switch in.Next() {
		case html.ErrorToken: // the end
			return l.texts, l.attributes
		case html.TextToken:
			if l.key != "" && l.patterns == 0 {
				l.texts[l.key] += html.UnescapeString(string(in.Raw()))
			}
		case html.EndTagToken:
			if name, _ := in.TagName(); string(name) == "template" {
				l.patterns--
			}
			l.key = ""
		case html.StartTagToken, html.SelfClosingTagToken:
			tag := in.Token()
			l.key = ""
			if tag.Data == "template" {
				l.patterns++
			}
			if l.patterns == 0 {
				l.element(tag)
			}
		}
	}
}

// live reads a page.
type live struct {
	texts, attributes map[string]string

	key      string // of the element whose text comes; "" if that is not live
	list     string // to which rows belong from here on
	patterns int    // how many <template> are open: what is in them is not on the page
}

// element adds what an element has that is live.
func (l *live) element(tag html.Token) {
	has := map[string]string{}
	for _, a := range tag.Attr {
		has[a.Key] = a.Val
	}
	if name, is := has["data-rows"]; is {
		l.texts["rows:"+name] = has["data-print"]
	}
	if name, is := has["data-list"]; is {
		l.list = "list:" + name
		l.texts[l.list] = ""
	}
	if row, is := has["data-key"]; is && l.list != "" {
		l.texts[l.list] = strings.TrimPrefix(l.texts[l.list]+" "+row, " ")
	}
	key, is := has["data-live"]
	if !is {
		return
	}
	attributes, named := has["data-attrs"]
	for name := range strings.FieldsSeq(attributes) {
		if name == "text" {
			named = false
			continue
		}
		l.attributes[key+"."+name] = has[name]
	}
	if !named {
		l.key, l.texts[key] = key, ""
	}
}
