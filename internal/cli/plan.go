package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/plan"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/heed"
)

type planOptions struct {
	models, run, ranks, path string
	prices, set              []string
}

func (a *app) plan() *cobra.Command {
	var o planOptions
	c := &cobra.Command{
		Use:   "plan FILE",
		Short: "Say what a cluster is, costs and can do, before it is made",
		Long: `Plan reads a cluster file and the muster.yaml beside it and adds up: nodes, GPUs
and memory, what they cost for an hour, a day and the run, which model gets which
nodes and what is left over, how often a run of this size is interrupted, how often
it should write checkpoints, and whether the file systems hold them. It needs
neither a cluster nor an account.

Prices are those of AWS in us-east-1 on a date that is shown. What has no price
there is named and counted as unknown, never as nothing; --price gives it.

--ranks shows on which node and GPU each rank of a model runs; with --path, how two
of them reach each other.`,
		Example: "  muster plan cluster.yaml\n  muster plan cluster.yaml --run 14d --price p5e.48xlarge=34.60\n" +
			"  muster plan cluster.yaml --ranks model1\n  muster plan cluster.yaml --ranks model1 --path 0,17\n" +
			"  muster plan cluster.yaml -o json | jq .price.all.hour.usd",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := notEmpty(c); err != nil {
				return err
			}
			return a.runPlan(c.Context(), args[0], o)
		},
	}
	flags := c.Flags()
	flags.StringVar(&o.models, "models", "", "the `FILE` with the models (default: muster.yaml beside FILE)")
	flags.StringVar(&o.run, "run", "", "how long the run is, as `TIME`: 14d, 36h, 2w (default: Run of muster.yaml)")
	repeat(flags, &o.prices, "price", "the price of an instance type in dollars an hour, as `TYPE=DOLLARS`; can be repeated")
	setFlag(flags, &o.set)
	flags.StringVar(&o.ranks, "ranks", "", "show the ranks of `MODEL`, or of all")
	flags.StringVar(&o.path, "path", "", "with --ranks: the path between two ranks, as `A,B`")
	completePlan(c)
	return c
}

// notEmpty holds that no flag is given an empty text: --run "$DAYS" without DAYS
// must not mean the length that the file says.
func notEmpty(c *cobra.Command) error {
	for _, name := range []string{"models", "run", "ranks", "path"} {
		if f := c.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
			return fault.Usage(fmt.Errorf("--%s is empty: leave it out, or give it a value", name))
		}
	}
	return nil
}

// completePlan teaches the shell what the arguments and flags take.
func completePlan(c *cobra.Command) {
	files := cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt)
	c.ValidArgsFunction = files
	for name, complete := range map[string]cobra.CompletionFunc{
		"models": files, "ranks": completeModel, "price": completePrice, "path": cobra.NoFileCompletions,
		"run": cobra.FixedCompletions([]string{"7d", "14d"}, cobra.ShellCompDirectiveNoFileComp),
	} {
		// It fails only for a flag that is not there or has one already.
		_ = c.RegisterFlagCompletionFunc(name, complete)
	}
}

func (a *app) runPlan(ctx context.Context, path string, o planOptions) error {
	var q plan.Question
	err := heed.Call(ctx, func() (err error) {
		q, err = a.question(path, o)
		return err
	})
	if err != nil {
		return err
	}
	estimate, err := plan.New(q)
	if problems := (&diag.List{}); misfits(problems, q.Workload, err) {
		return a.showProblems(problems)
	}
	if err != nil {
		return err
	}
	if o.ranks != "" || o.path != "" {
		return a.showRanks(estimate, o)
	}
	return a.answer(estimate, func() error { return writePlan(a.out, estimate) })
}

// misfits adds to a workload's problems that a model has no room, if that is the error.
func misfits(list *diag.List, w *spec.Workload, err error) bool {
	misfit, ok := errors.AsType[*plan.Misfit](err)
	if ok {
		list.Errorf("workload/fit", "", "a model has no room: %s", misfit.Message).At(w.Models[misfit.Model].Place).WithHint("%s", misfit.Hint)
	}
	return ok
}

// question reads the files and the flags. Errors of the files stop it; the rest
// is for `muster check`.
func (a *app) question(path string, o planOptions) (plan.Question, error) {
	q := plan.Question{}
	if o.run != "" {
		var ok bool
		if q.RunHours, ok = spec.ParseRun(o.run); !ok {
			return q, fault.Usage(fmt.Errorf("%q is no length of a run: write 14d, 36h or 2w, from a minute up to ten years", o.run))
		}
	}
	variables, err := variables(o.set)
	if err != nil {
		return q, err
	}
	text, err := place.ReadCluster(place.Files{Cluster: path, Variables: variables}, talk{a})
	if err != nil {
		return q, err
	}
	file := spec.OpenText(path, text, spec.Options{})
	file.Finish()
	if err := a.planProblems(file.Problems); err != nil {
		return q, err
	}
	q.Cluster = file.Cluster
	models := o.models
	if models == "" {
		models = spec.WorkloadPath(path)
	}
	var problems *diag.List
	q.Workload, problems = spec.LoadWorkload(models, q.Cluster)
	if err := a.planProblems(problems); err != nil {
		return q, err
	}
	q.Prices, err = userPrices(o.prices, plan.InstanceTypes(q.Cluster))
	return q, err
}

// planProblems shows a file's problems if it has errors.
func (a *app) planProblems(list *diag.List) error {
	if !list.HasErrors() {
		return nil
	}
	return a.showProblems(list)
}

// minPrice and maxPrice are far from what a machine costs for an hour.
const minPrice, maxPrice = 1e-6, 1e6

// userPrices reads the prices of --price. Each must be of an instance type of
// the cluster.
func userPrices(texts, used []string) (map[string]float64, error) {
	prices := map[string]float64{}
	for _, text := range texts {
		name, amount, ok := strings.Cut(text, "=")
		amount = strings.TrimPrefix(amount, "$")
		usd, err := strconv.ParseFloat(amount, 64)
		switch {
		case !ok || name == "" || err != nil || !(usd >= minPrice && usd <= maxPrice) || strings.Trim(amount, "0123456789.") != "":
			return nil, fault.Usage(fmt.Errorf("--price %s: write the instance type and dollars an hour, as p5e.48xlarge=34.60", page.Printable(text)))
		case !slices.Contains(used, name):
			return nil, fault.Usage(notUsed(name, used))
		case prices[name] != 0:
			return nil, fault.Usage(fmt.Errorf("--price gives %s two prices", name))
		}
		prices[name] = usd
	}
	return prices, nil
}

func notUsed(name string, used []string) error {
	if _, ok := catalog.Lookup(name); ok {
		return fmt.Errorf("--price: the file has no %s; it has %s", name, strings.Join(used, ", "))
	}
	if near := diag.Nearest(name, used); near != "" {
		return fmt.Errorf("--price: the file has no %s; did you mean %s?", page.Printable(name), near)
	}
	return fmt.Errorf("--price: the instance type %s is not known", page.Printable(name))
}

// ranksAnswer is what `muster plan --ranks -o json` prints.
type ranksAnswer struct {
	Models []modelRanks `json:"models"`
	// Path is there with --path.
	Path *plan.Path `json:"path,omitempty"`
}

// modelRanks are the ranks of a model.
type modelRanks struct {
	Model string      `json:"model"`
	Ranks []plan.Rank `json:"ranks"`
}

const allModels = "all"

func (a *app) showRanks(e *plan.Estimate, o planOptions) error {
	chosen, err := chooseModels(e, o.ranks)
	if err != nil {
		return err
	}
	var answer ranksAnswer
	for _, t := range chosen {
		ranks := t.Ranks()
		switch {
		case len(ranks) == 0 && len(chosen) > 1:
			continue
		case len(ranks) == 0:
			return fmt.Errorf("%s has no ranks: give it Nodes with GPUs, or GPUs, in muster.yaml", t.Name)
		}
		answer.Models = append(answer.Models, modelRanks{Model: t.Name, Ranks: ranks})
	}
	if len(answer.Models) == 0 {
		return errors.New("no model has ranks: give it Nodes with GPUs, or GPUs, in muster.yaml")
	}
	if o.path != "" {
		from, to, err := twoRanks(o.path)
		if err != nil {
			return err
		}
		if len(chosen) != 1 {
			return fault.Usage(errors.New("--path needs one model: give --ranks MODEL"))
		}
		path, err := chosen[0].Path(from, to)
		if err != nil {
			return err
		}
		answer.Path = &path
	}
	return a.answer(answer, func() error { return answer.write(a.out) })
}

// chooseModels finds a model by its name. All that have a place are chosen with
// "all", or without a name.
func chooseModels(e *plan.Estimate, name string) ([]plan.Trained, error) {
	var names []string
	for _, t := range e.Models {
		if t.Name == name {
			return []plan.Trained{t}, nil
		}
		names = append(names, t.Name)
	}
	switch near := diag.Nearest(name, names); {
	case len(names) == 0:
		return nil, errors.New("there are no models: muster.yaml says what is trained")
	case name == allModels || name == "":
		return e.Models, nil
	case near != "":
		return nil, fault.Usage(fmt.Errorf("there is no model %q; did you mean %s?", name, near))
	}
	return nil, fault.Usage(fmt.Errorf("there is no model %q; there are %s", name, strings.Join(names, ", ")))
}

func twoRanks(text string) (from, to int, err error) {
	first, second, ok := strings.Cut(text, ",")
	from, wrong := strconv.Atoi(strings.TrimSpace(first))
	to, wrongToo := strconv.Atoi(strings.TrimSpace(second))
	if !ok || wrong != nil || wrongToo != nil {
		return 0, 0, fault.Usage(fmt.Errorf("--path %s: write two ranks, as 0,17", page.Printable(text)))
	}
	return from, to, nil
}

// completeModel completes the name of a model of the file that is given already.
func completeModel(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names := []string{allModels}
	if w, _ := spec.LoadWorkload(spec.WorkloadPath(args[0]), nil); w != nil {
		for _, m := range w.Models {
			names = append(names, m.Name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completePrice completes the instance types whose prices may be missing.
func completePrice(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	if len(args) == 0 {
		return nil, directive
	}
	file := spec.Open(args[0], spec.Options{})
	if file.Cluster == nil {
		return nil, directive
	}
	var names []string
	for _, name := range plan.InstanceTypes(file.Cluster) {
		names = append(names, name+"=")
	}
	return names, directive
}
