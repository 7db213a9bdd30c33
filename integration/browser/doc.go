// Package browser has tests of the pages in a real browser, Debian's chromium: that nobody is kept out of them, that no
// text of others does anything, and that what people come for can be done, with scripts and without. It is a module of
// its own, so that what drives the browser is no dependency of the program.
package browser
