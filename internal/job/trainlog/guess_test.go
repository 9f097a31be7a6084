package trainlog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/job/trainlog"
)

// Where no line is known, those that may be progress are told with a pattern, which reads them.
func TestGuesses(t *testing.T) {
	rising := func(format string) string {
		var out strings.Builder
		for n := range 12 {
			fmt.Fprintf(&out, format+"\n", n+1, 2.5-float64(n)/10)
		}
		return out.String()
	}
	for _, row := range []struct {
		name, text, line, pattern string // the first guess; no line is none
		step                      int64
		loss                      trainlog.Value
	}{
		{"objective", rising("it=%d objective %.3f (12 s)"), "it=12 objective 1.400 (12 s)", `^it=(?P<step>\d+).*?objective *(?P<loss>\S+)`, 12, some(1.4)},
		{"table", rising("%5d   %.3f   0.001"), "12   1.400   0.001", `^ *(?P<step>\d+).*? +(?P<loss>\S+)`, 12, some(1.4)},
		{"of_many", rising("done %d/400 ppl %.2f"), "done 12/400 ppl 1.40", `^done *(?P<step>\d+) */ *(?P<steps>\d+).*?ppl *(?P<loss>\S+)`, 12, some(1.4)},
		{"quotes", rising("{'n': %d, 'objective': %.2f}"), "{'n': 12, 'objective': 1.40}", `.n.: *(?P<step>\d+).*?.objective.: *(?P<loss>[\w.+-]+)`, 12, some(1.4)},
		{"in_colour", rising("\x1b[32mepisode %d\x1b[0m reward %.1f"), "episode 12 reward 1.4", `^episode *(?P<step>\d+).*?reward *(?P<loss>\S+)`, 12, some(1.4)},
		{"behind_a_logger", rising("2024-01-01 12:00:00,123 INFO trainer.py:42 episode %d reward %.1f"), "2024-01-01 12:00:00,123 INFO trainer.py:42 episode 12 reward 1.4", `episode *(?P<step>\d+).*?reward *(?P<loss>\S+)`, 12, some(1.4)},
		{"of_a_rank", rising("3: [rank3]: epoch %d acc %.2f"), "epoch 12 acc 1.40", `^epoch *(?P<step>\d+).*?acc *(?P<loss>\S+)`, 12, some(1.4)},
		{"nothing", "hello\nworld 5\n", "", "", 0, none},
		{"downloads", rising("Downloading shard %d at %.1f MB/s"), "", "", 0, none},
		{"numbers_that_do_not_rise", strings.Repeat("batch size 64, lr 0.1\n", 9), "", "", 0, none},
		{"numbers_up_and_down", strings.Repeat("queue 5 objective 2.5\nqueue 9 objective 2.5\nqueue 2 objective 2.5\n", 5), "", "", 0, none},
		{"empty", "", "", "", 0, none},
		{"binary", "\xff\xfe5\x00\x1b[\n", "", "", 0, none},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := trainlog.Guesses([]byte(row.text), 3)
			if row.line == "" {
				if len(got) > 0 {
					t.Fatalf("guesses %+v", got)
				}
				return
			}
			if len(got) == 0 || got[0].Line != row.line || got[0].Pattern != row.pattern {
				t.Fatalf("guesses %+v", got)
			}
			r := trainlog.Reader{Pattern: compiled(t, got[0].Pattern)}
			samples := r.Feed([]byte(row.text)).Samples
			if len(samples) != 12 || samples[11].Step != row.step || samples[11].Loss != row.loss {
				t.Errorf("the pattern reads %+v", samples)
			}
		})
	}
}

// Of many kinds of lines, the likeliest come first, and not more than were asked for.
func TestGuessesInOrder(t *testing.T) {
	var out strings.Builder
	for n := range 20 {
		fmt.Fprintf(&out, "alive for %d s\nloaded 12 of 40 shards\nround %d: objective %.2f\nGPU memory 12.5 GiB\ntick %d\ntock %d\n", n*5, n, 3-float64(n)/10, n, n)
	}
	got := trainlog.Guesses([]byte(out.String()), 3)
	if len(got) != 3 || got[0].Line != "round 19: objective 1.10" {
		t.Errorf("guesses %+v", got)
	}
}

func FuzzGuesses(f *testing.F) {
	f.Add([]byte("it=1 objective 2\nit=2 objective 1\n"))
	f.Add([]byte("5/6 \xff'\"|%| 7/8\r9/10\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, g := range trainlog.Guesses(text, 3) {
			if strings.ContainsAny(g.Pattern, "'\"\n\r") || g.Line == "" {
				t.Errorf("guesses %+v", g)
			}
			compiled(t, g.Pattern)
		}
	})
}

var none trainlog.Value
