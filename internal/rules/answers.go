package rules

// Answers is what holds of answers to parked jobs, in the whole key space.
type Answers struct {
	Early float64 `json:"keep_early"`   // seconds for which an answer waits for its job; 0: not at all
	Done  float64 `json:"keep_done"`    // seconds for which it is known that a correlation is over
	Most  int64   `json:"max_response"` // bytes that one may have
}

// DefaultAnswers is what holds where nothing is said.
func DefaultAnswers() Answers { return Answers{Early: 86400, Done: 86400, Most: 1 << 20} }

// Secret tells by which secret callback addresses are signed, without telling it: hosts that have another believe none of those
// of this one.
type Secret struct {
	Fingerprint string `json:"fingerprint"`
}

// The one secret and the one set of answers have a table of their own.
const (
	kindPark    = "park."
	nameAnswers = "answers"
	nameSecret  = "secret"
)
