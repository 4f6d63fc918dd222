package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

// TestManual writes the manual pages, one per command, into $TRITONC_MANUAL, whose date is
// $SOURCE_DATE_EPOCH, or else into a folder that is removed. What writes them is not part
// of the program: it would add 600 KB.
func TestManual(t *testing.T) {
	dir, date := os.Getenv("TRITONC_MANUAL"), time.Time{}
	if dir == "" {
		dir = t.TempDir()
	} else {
		seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		date = time.Unix(seconds, 0).UTC()
	}
	root := manualRoot()
	header := &doc.GenManHeader{Section: "1", Date: &date, Source: "tritonc " + version(), Manual: "tritonc"}
	if err := doc.GenManTree(root, header, dir); err != nil {
		t.Fatal(err)
	}
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		page, err := os.ReadFile(filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1"))
		if err != nil {
			t.Fatal(err)
		}
		words := plainWords(string(page))
		for _, text := range append(flagTexts(cmd), cmd.Short, cmd.Long, cmd.Example) {
			if !strings.Contains(words, plainWords(text)) {
				t.Errorf("the manual page of %s lacks: %s", cmd.CommandPath(), text)
			}
		}
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				check(c)
			}
		}
	}
	check(newRoot(manualEnvironment()))
}

func manualEnvironment() *environment {
	env := &environment{lookupEnv: func(string) (string, bool) { return "", false }, passes: neutralPasses()}
	env.report = newReporter(env, nil)
	return env
}

// manualRoot is the tree of commands with texts that Markdown, as which they are read,
// leaves as they are.
func manualRoot() *cobra.Command {
	root := newRoot(manualEnvironment())
	root.DisableAutoGenTag = true
	var escape func(cmd *cobra.Command)
	escape = func(cmd *cobra.Command) {
		cmd.Short, cmd.Long = escapeMarkdown(cmd.Short), escapeMarkdown(cmd.Long)
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			f.Usage = escapeMarkdown(strings.ReplaceAll(f.Usage, "`", ""))
		})
		for _, c := range cmd.Commands() {
			escape(c)
		}
	}
	escape(root)
	return root
}

var markdownSpecial = regexp.MustCompile("[][\\\\`*_<>|#]")

// escapeMarkdown makes Markdown of plain text, whose indented lines are shown as they are.
func escapeMarkdown(text string) string {
	var b strings.Builder
	shown := false
	for line := range strings.Lines(text) {
		indented := strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "\t")
		if indented != shown && line != "\n" {
			b.WriteString("\n")
			shown = indented
		}
		if indented {
			b.WriteString("    " + line)
		} else {
			b.WriteString(markdownSpecial.ReplaceAllString(line, `\$0`))
		}
	}
	return strings.TrimPrefix(b.String(), "\n")
}

func flagTexts(cmd *cobra.Command) (texts []string) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			texts = append(texts, "--"+f.Name, strings.ReplaceAll(f.Usage, "`", ""))
		}
	})
	return texts
}

var roff = regexp.MustCompile(`(?m)^\.(PP|EX|EE|RS|RE|TP|SH|nf|fi).*$|\\f[A-Z]|\\&`)

// plainWords are the words of a text of ours or of a page, spaces left out.
func plainWords(text string) string {
	text = strings.NewReplacer(`\\`, `\`, `\[la]`, "<", `\[ra]`, ">", `\[rs]`, `\`, `\-`, "-", `\e`, `\`, `\&`, "", `\(aq`, "'", `\_`, "_").Replace(roff.ReplaceAllString(text, ""))
	return strings.Join(strings.Fields(text), "")
}
