package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/say/page"
)

// previewPush says what a push would do.
func (a *app) previewPush(ctx context.Context, p data.Push, to target, o pushOptions) error {
	if a.output == "json" {
		return a.previewJSON(ctx, p, to)
	}
	done, answer, err := a.foresee(ctx, p, to, func(s data.PushStep) error {
		if !o.verbose {
			return nil
		}
		_, err := fmt.Fprintln(a.out, s.Deed, page.Printable(s.Path))
		return err
	})
	if err != nil {
		return err
	}
	a.tellOdd(to, done, o.PushOptions)
	a.tellProblems(done.Problems.List, done.Problems.All)
	_, err = fmt.Fprintln(a.out, answer.text())
	return err
}

// foresee finds out what a push would do.
func (a *app) foresee(ctx context.Context, p data.Push, to target, tell func(data.PushStep) error) (data.Pushed, pushAnswer, error) {
	done, err := p.Preview(ctx, tell)
	if errors.Is(err, data.ErrNothing) {
		a.tellIdle(done)
	}
	answer := pushAnswerOf(to, done, p.Options)
	answer.DryRun = true
	return done, answer, pushError(err, to)
}

// previewJSON keeps the answer in a file until it is whole: there may be very many steps, and where the last of them brings
// an error stdout has nothing.
func (a *app) previewJSON(ctx context.Context, p data.Push, to target) (err error) {
	kept, err := os.CreateTemp("", "muster-steps-*.tmp")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	if err := os.Remove(kept.Name()); err != nil {
		return err
	}
	if err := a.writePreview(ctx, p, to, kept); err != nil {
		return err
	}
	if _, err := kept.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err = io.Copy(a.out, kept)
	return err
}

// writePreview writes steps as they are found, and the answer behind them.
func (a *app) writePreview(ctx context.Context, p data.Push, to target, w io.Writer) error {
	out, between := bufio.NewWriter(w), ""
	fmt.Fprint(out, "{\n  \"steps\": [")
	_, answer, err := a.foresee(ctx, p, to, func(s data.PushStep) error {
		text, err := json.Marshal(s)
		if err == nil {
			_, err = fmt.Fprintf(out, "%s\n    %s", between, text)
		}
		between = ","
		return err
	})
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(answer, "", "  ")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n  ],%s\n", text[1:])
	return out.Flush()
}
