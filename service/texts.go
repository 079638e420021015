package service

// textFor is a stage's text in both languages, empty for a stage that has none.
func textFor(name string) Texts { return Texts{EN: textsEN[name], ZH: textsZH[name]} }
