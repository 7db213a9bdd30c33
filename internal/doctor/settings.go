package doctor

import "context"

// Settings looks for settings of the protocol that cannot be used as they are.
func (d *Doctor) Settings(ctx context.Context) error {
	odd, err := d.Client.OddSettings(ctx)
	if readable(err) != nil {
		return d.hidden("settings", err)
	}
	for _, wrong := range odd {
		d.found(Warning, "settings", "oarlock config set, or unset, for what is meant.",
			"%v by us; other programs may stop, or lock for nonsense.", wrong)
	}
	return nil
}
