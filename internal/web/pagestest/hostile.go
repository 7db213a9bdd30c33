package pagestest

import (
	"reflect"
	"slices"

	"oarlock/internal/web/chart"
	"oarlock/internal/web/pages"
)

// Hostile are texts that others may have written: into data, names, messages, lines of a log.
var Hostile = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `" autofocus onfocus="alert(1)`, "`onload=alert(1)",
	`javascript:alert(1)`, `JaVaScRiPt:alert(1)`, "java\tscript:alert(1)", `data:text/html,<script>alert(1)</script>`, `</title><script>alert(1)</script>`,
	`</script><script>alert(1)</script>`, `</textarea><svg onload=alert(1)>`, `<svg><animate onbegin=alert(1)>`, `{{.Version}}{{template "x"}}`, `<!--`, `-->`, `]]>`, `<![CDATA[`,
	"\x00", "a\x1b]0;owned\x07\x1b[2J", "\u202egnp.exe", "\u200bzero\u2060width\ufeff", "\xff\xfe", "line\nbreak\r\n", `&lt;script&gt;`, `%3Cscript%3E`, `/\evil.example`, `//evil.example/x`,
	`<template><script>alert(1)</script></template>`, `<base href=//evil.example>`, `<form action=//evil.example>`, `<meta http-equiv=refresh content="0;url=//evil.example">`,
}

// chosen are texts that we write, of few: templates ask for them.
var chosen = []string{"Tone", "Theme", "Kind", "Sort", "Form", "Prefix", "Action"}

// Filled is a page in which every text is text, but those that are chosen.
func Filled(p pages.Page, text string) pages.Page {
	fill(reflect.ValueOf(&p).Elem(), text)
	return p
}

func fill(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		if v.String() != "" && v.CanSet() {
			v.SetString(text)
		}
	case reflect.Struct:
		switch shape := v.Addr().Interface().(type) { // whose attributes package chart makes of numbers
		case *chart.Line:
			fill(reflect.ValueOf(&shape.Title).Elem(), text)
			fill(reflect.ValueOf(&shape.Rows).Elem(), text)
			return
		case *chart.Bar:
			fill(reflect.ValueOf(&shape.Row).Elem(), text)
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !slices.Contains(chosen, f.Name) {
				fill(v.Field(i), text)
			}
		}
	case reflect.Slice:
		copied := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(copied, v)
		for i := range copied.Len() {
			fill(copied.Index(i), text)
		}
		if v.Len() > 0 {
			v.Set(copied)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			copied := reflect.New(v.Type().Elem())
			copied.Elem().Set(v.Elem())
			fill(copied.Elem(), text)
			v.Set(copied)
		}
	case reflect.Interface:
		if !v.IsNil() {
			copied := reflect.New(v.Elem().Type()).Elem()
			copied.Set(v.Elem())
			fill(copied, text)
			v.Set(copied)
		}
	}
}
