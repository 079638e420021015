package service

// textFor stands in until the texts land: whoever adds texts.go removes this file.
func textFor(string) Texts { return Texts{} }
