package core

// enter makes the input of the first stage: what the file holds, when it is
// some stage's artifact.
func (t *trip) enter() error {
	t.input = t.src.Text
	return nil
}
