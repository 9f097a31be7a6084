package cli

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/status/top"
)

// watching is the program that bubbletea drives: keys, sizes and looks come in, frames go out.
type watching struct {
	ctx    context.Context
	screen top.Screen
	looker looker
	// next is when the next look begins. There is never more than one; until says that another
	// is wanted when it is over.
	next    time.Time
	again   bool
	stopped *bool
}

// looked is the end of a look, ticked the second that has passed.
type (
	looked struct {
		look top.Look
		err  error
	}
	ticked time.Time
)

// framesPerSecond is how often the screen is drawn at the most. It bounds what a key waits.
const framesPerSecond = 20

// watch shows looks until the user ends it. The terminal is then as it was.
func (a *app) watch(ctx context.Context, l looker) error {
	stopped := false
	m := watching{ctx: ctx, looker: l, stopped: &stopped, screen: top.Screen{
		Colour: !a.noColor && os.Getenv("NO_COLOR") == "", Unicode: unicodeTerminal(os.Getenv), Now: time.Now(),
	}}
	_, err := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(a.in), tea.WithOutput(a.out), tea.WithoutSignalHandler(),
		tea.WithFPS(framesPerSecond)).Run()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case stopped:
		return fault.Exit(fault.ExitInterrupted)
	case errors.Is(err, tea.ErrProgramKilled) || err == nil:
		return nil
	}
	return err
}

// Init implements tea.Model.
func (m watching) Init() tea.Cmd {
	return tea.Batch(func() tea.Msg { return ticked(time.Now()) }, tick())
}

func tick() tea.Cmd { return tea.Tick(time.Second, func(t time.Time) tea.Msg { return ticked(t) }) }

// Update implements tea.Model.
func (m watching) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.screen.Width, m.screen.Height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		return m.key(msg.String())
	case ticked:
		m.screen.Now = time.Time(msg)
		m, look := m.due()
		return m, tea.Batch(look, tick())
	case looked:
		m.screen.Now, m.screen.Since = time.Now(), time.Time{}
		if msg.err != nil {
			m.screen.Failed = msg.err.Error()
		} else {
			m.screen = m.screen.Seen(msg.look)
		}
		return m.due()
	}
	return m, nil
}

func (m watching) key(name string) (tea.Model, tea.Cmd) {
	var wish top.Wish
	m.screen, wish = m.screen.Key(name)
	switch wish {
	case top.Quit:
		return m, tea.Quit
	case top.Stop:
		*m.stopped = true
		return m, tea.Quit
	case top.LookNow:
		m.again = true
		return m.due()
	}
	return m, nil
}

// due begins a look if it is time for one and none is under way.
func (m watching) due() (watching, tea.Cmd) {
	now := time.Now()
	if !m.screen.Since.IsZero() || now.Before(m.next) && !m.again {
		return m, nil
	}
	m.again, m.screen.Since, m.next = false, now, now.Add(top.Every-everySlack)
	page := m.screen.Page()
	return m, func() tea.Msg {
		l, err := m.looker.look(m.ctx, page)
		return looked{l, err}
	}
}

// everySlack has a look begin with a second that passes a little before its time.
const everySlack = 100 * time.Millisecond

// View implements tea.Model.
func (m watching) View() tea.View {
	v := tea.NewView(m.screen.Frame())
	v.AltScreen = true
	return v
}

// unicodeTerminal tells by the locale whether the terminal shows more than ASCII.
func unicodeTerminal(getenv func(string) string) bool {
	locale := strings.ToLower(cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG")))
	return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
}
