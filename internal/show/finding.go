package show

import (
	"io"

	"oarlock/internal/doctor"
	"oarlock/internal/screen"
)

// Finding shows what a doctor has found.
func Finding(w io.Writer, f doctor.Finding) {
	mark := map[doctor.Level]screen.Painted{
		doctor.OK: screen.Paint(w, screen.Green, "✓"), doctor.Fixed: screen.Paint(w, screen.Green, "✓ repaired"), doctor.Note: "·",
		doctor.Warning: screen.Paint(w, screen.Yellow, "! warning"), doctor.Bad: screen.Paint(w, screen.Red, "✗ bad"),
	}[f.Level]
	screen.Printf(w, "%s %s: %s\n", mark, screen.Paint(w, screen.Bold, f.Subject), f.Text)
	if f.Advice != "" {
		screen.PrintLine(w, screen.PaintLines(w, screen.Dim, screen.Lines(indent(f.Advice))))
	}
}

// Capacity says what children take of the host, as plan does; nothing if that is "".
func Capacity(w io.Writer, sentence string, fits bool) {
	switch {
	case sentence == "":
	case fits:
		screen.PrintLine(w, sentence)
	default:
		screen.Printf(w, "%s %s\n", screen.Paint(w, screen.Yellow, "Warning:"), sentence)
	}
}
