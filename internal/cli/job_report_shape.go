package cli

import (
	"time"

	"github.com/muster-hpc/muster/internal/job/report"
)

// reportAnswer is what `muster job report -o json` prints.
type reportAnswer struct {
	// Since is absent where the report is about all that some jobs did.
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until"`
	By    string    `json:"by"`
	// Rows are the jobs, users, accounts or nodes, those first that held most.
	Rows   []reportRow   `json:"rows"`
	Total  reportRow     `json:"total"`
	Prices []reportPrice `json:"prices"`
	Nodes  reportLedger  `json:"nodes"`
	// Verification is absent where there was none.
	Verification *reportVerification `json:"verification,omitempty"`
	// Blind says what could not be read.
	Blind []string `json:"blind,omitempty"`

	nameless bool
}

// reportRow is where the time of one of them went. Hours are node-hours.
type reportRow struct {
	Key         string  `json:"key"`
	Name        string  `json:"name,omitempty"`
	User        string  `json:"user,omitempty"`
	Account     string  `json:"account,omitempty"`
	State       string  `json:"state,omitempty"`
	Jobs        int     `json:"jobs"`
	Runs        int     `json:"runs"`
	Interrupted int     `json:"interrupted"`
	QueueHours  float64 `json:"queue_hours"` // of the jobs, which held no nodes then
	NodeHours   float64 `json:"node_hours"`
	// Goodput is the part of the time that trained, GoodputMost what it would be if all trained that is not known.
	// They are absent where no time was held.
	Goodput     *float64 `json:"goodput,omitempty"`
	GoodputMost *float64 `json:"goodput_most,omitempty"`
	// USD is absent where no price is known, and a part where UnpricedNodeHours are not 0.
	USD               *float64      `json:"usd,omitempty"`
	UnpricedNodeHours float64       `json:"unpriced_node_hours,omitempty"`
	Classes           []reportClass `json:"classes"`
	// Estimated says that times were reckoned which nobody wrote down.
	Estimated bool `json:"estimated,omitempty"`
	// Advice is what to do about what cost most.
	Advice string `json:"advice,omitempty"`

	worst report.Class
}

// reportClass is what was done with a part of the time.
type reportClass struct {
	Class     string   `json:"class"`
	NodeHours float64  `json:"node_hours"`
	USD       *float64 `json:"usd,omitempty"`

	text string
}

// reportPrice is what an hour of an instance type costs, 0 if that is not known.
type reportPrice struct {
	InstanceType string  `json:"instance_type"`
	USDPerHour   float64 `json:"usd_per_hour,omitempty"`
	Date         string  `json:"price_date,omitempty"`
	Source       string  `json:"price_source,omitempty"`
}

// reportLedger is which nodes failed, and which of them more than the others.
type reportLedger struct {
	Failures int `json:"failures"`
	// Unplaced are jobs that a lost node ended, of which nobody knows which it was.
	Unplaced int `json:"unplaced,omitempty"`
	// Needed is how many failures a node with an average time would need to stand out, 0 if no number would do.
	Needed int              `json:"needed"`
	Failed []reportStanding `json:"failed"`
}

// reportStanding is a node that failed.
type reportStanding struct {
	Node      string  `json:"node"`
	Failures  int     `json:"failures"`
	NodeHours float64 `json:"node_hours"`
	Expected  float64 `json:"expected"`
	// P is how probable so many are if all nodes fail alike, corrected for the number of nodes.
	P       float64  `json:"p"`
	Worse   bool     `json:"worse"`
	Reasons []string `json:"reasons,omitempty"`
}

// answer adds up what was gathered.
func (g *gathered) answer(o reportOptions) reportAnswer {
	of, splits := g.splits()
	rows, total := report.Rows(splits, report.By(o.by), g.window, g.nodes)
	answer := reportAnswer{Since: g.window.From, Until: g.now, By: o.by, Rows: []reportRow{}, Prices: g.prices, Blind: g.blind}
	for _, r := range rows {
		answer.Rows = append(answer.Rows, rowShape(r, of[r.Key]))
	}
	answer.Total = rowShape(total, splits)
	if g.prices == nil {
		answer.Prices = []reportPrice{}
	}
	_, answer.nameless = g.missing()
	answer.Verification = g.verification()
	answer.Nodes = g.ledger(append(splits, g.proven()...))
	return answer
}

func rowShape(r report.Row, splits []report.Split) reportRow {
	row := reportRow{
		Key: r.Key, Name: r.Name, User: r.User, Account: r.Account, State: r.State, Jobs: r.Jobs, Runs: r.Runs, Interrupted: r.Interrupted,
		QueueHours: r.Queued.Hours(), NodeHours: r.Held.Hours(), UnpricedNodeHours: r.Unpriced.Hours(), Estimated: r.Estimated, Advice: r.Advice(splits),
	}
	if least, most, ok := r.Goodput(); ok {
		row.Goodput, row.GoodputMost = &least, &most
	}
	priced := r.Unpriced < r.Held
	if priced {
		row.USD = &r.USD
	}
	for _, c := range report.Classes() {
		shape := reportClass{Class: c.Key(), NodeHours: r.Of[c].Hours(), text: c.Text()}
		if usd := r.USDOf[c]; priced {
			shape.USD = &usd
		}
		row.Classes = append(row.Classes, shape)
	}
	row.worst, _ = r.Worst()
	return row
}

// ledger is how often nodes failed, of all that jobs held or that failed.
func (g *gathered) ledger(splits []report.Split) reportLedger {
	rows, _ := report.Rows(splits, report.ByNode, g.window, nil)
	held := map[string]report.NodeTime{}
	for _, r := range rows {
		if r.Key != "" {
			held[r.Key] = r.Held
		}
	}
	l := report.NewLedger(held, g.fails)
	shape := reportLedger{Failures: l.Failures, Unplaced: g.unplaced, Needed: l.Needed, Failed: []reportStanding{}}
	for _, n := range l.Nodes {
		if n.Failures > 0 {
			shape.Failed = append(shape.Failed, reportStanding{
				Node: n.Node, Failures: n.Failures, NodeHours: n.Held.Hours(), Expected: n.Expected, P: n.P, Worse: n.Worse, Reasons: n.Reasons,
			})
		}
	}
	return shape
}
