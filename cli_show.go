package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"seckill/service"
)

func showCommand(std stdio) *cobra.Command {
	lang := ""
	cmd := command("show STAGE", "Explain a stage and print the code it is made of", cobra.ExactArgs(1),
		func(_ *cobra.Command, args []string) error {
			stage, err := service.StageByName(args[0])
			if err != nil {
				return usage("%w", err)
			}
			if lang == "" {
				lang = languageOf(os.Getenv("LANG"))
			}
			if lang != "en" && lang != "zh" {
				return usage("--lang %q is neither en nor zh", lang)
			}
			return show(std.out, stage, lang)
		})
	cmd.Flags().StringVar(&lang, "lang", "", "language of the text: en or zh; empty: as LANG says")
	return cmd
}

// languageOf reads a locale's name, such as zh_CN.UTF-8.
func languageOf(locale string) string {
	if strings.HasPrefix(locale, "zh") {
		return "zh"
	}
	return "en"
}

// words are the headings of a stage's text.
type words struct{ made, fixes, breaks, question, answer, source string }

var headings = map[string]words{
	"en": {"Made of", "What it fixes", "What still breaks", "Question", "Answer", "Source"},
	"zh": {"组成", "解决了什么", "还有什么问题", "思考", "答案", "源码"},
}

func show(w io.Writer, s service.Stage, lang string) error {
	text, h := s.Text.EN, headings[lang]
	if lang == "zh" {
		text = s.Text.ZH
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s: %s\n", s.Name, h.made, madeOf(s))
	for _, p := range [][2]string{
		{h.fixes, text.Fixes}, {h.breaks, text.StillBreaks}, {h.question, text.Question}, {h.answer, text.Answer},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", p[0], p[1])
	}
	files, err := sourcesOf(s)
	if err != nil {
		return err
	}
	for _, f := range files {
		fmt.Fprintf(&b, "\n## %s: %s\n\n%s\n", h.source, f.name, strings.TrimSpace(f.text))
	}
	_, err = io.WriteString(w, b.String())
	return err
}

// madeOf writes the stage as the flags that would build it.
func madeOf(s service.Stage) string {
	unique := map[bool]string{true: "on", false: "off"}[s.Unique]
	return fmt.Sprintf("--lock %s --lock-key %s --lock-span %s --on-loss %s --stock-update %s --unique %s --wait %s --ttl %s "+
		"--cas-retries %d --path %s", s.Lock, s.LockKey, s.LockSpan, s.OnLoss, s.StockUpdate, unique, s.Wait, s.TTL, s.CASRetries, s.Path)
}
