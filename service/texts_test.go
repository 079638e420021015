package service

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var compareCommand = regexp.MustCompile("`seckill compare --stages (\\S+) --scenarios ([^ `]+)(?: [^`]*)?`")

func TestTexts_BothLanguagesAreComplete(t *testing.T) {
	require.ElementsMatch(t, slices.Collect(maps.Keys(textsEN)), slices.Collect(maps.Keys(textsZH)))
	for name := range textsEN {
		for language, text := range map[string]Text{"en": textFor(name).EN, "zh": textFor(name).ZH} {
			for field, s := range map[string]string{
				"fixes": text.Fixes, "still breaks": text.StillBreaks, "question": text.Question, "answer": text.Answer,
			} {
				require.NotEmptyf(t, strings.TrimSpace(s), "%s %s: %s", name, language, field)
			}
		}
	}
	require.Zero(t, textFor("no such stage"))
}

// A question is answered by running one command; both languages name the same one, and it concerns the stage.
func TestTexts_QuestionsNameACommandThatExists(t *testing.T) {
	scenarios := []string{"single", "multi", "slow", "late", "crash", "nested"}
	for name := range textsEN {
		texts := textFor(name)
		m := compareCommand.FindStringSubmatch(texts.EN.Question)
		require.NotNil(t, m, "%s: no command in %q", name, texts.EN.Question)
		stages := strings.Split(m[1], ",")
		require.Contains(t, stages, name)
		for _, s := range stages {
			require.Contains(t, textsEN, s)
		}
		for _, s := range strings.Split(m[2], ",") {
			require.Contains(t, scenarios, s)
		}
		require.Contains(t, texts.ZH.Question, m[0])
	}
}
