package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/aws"
	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

func (a *app) catalog() *cobra.Command {
	c := &cobra.Command{
		Use:   "catalog",
		Short: "Show instance types, and bring them up to date",
		Long: `Catalog has the instance types that cluster files can name: their CPUs, memory,
GPUs and network, and what they cost. A dated list is built into muster. A newer
one, of your own account and region, can stand beside it.`,
		Example: "  muster catalog show p5e.48xlarge\n  muster catalog update --region us-east-1",
	}
	c.AddCommand(a.catalogShow(), a.catalogUpdate())
	return c
}

func (a *app) catalogUpdate() *cobra.Command {
	var region string
	c := &cobra.Command{
		Use:   "update",
		Short: "Ask AWS for the instance types of a region",
		Long: `Update asks AWS for all instance types of a region, which zones offer them, and
what they cost on demand. The answer stands beside the built-in list from then on:
check, plan and up know new types, and plan has the region's prices. It makes and
changes nothing in the account, and needs the rights ec2:DescribeInstanceTypes,
ec2:DescribeInstanceTypeOfferings and pricing:GetProducts.`,
		Example: "  muster catalog update --region us-east-1\n  muster catalog update -o json | jq .types",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return a.updateCatalog(c.Context(), region) },
	}
	c.Flags().StringVar(&region, "region", "", "the `REGION` (default: the environment's)")
	return c
}

// updated is what `muster catalog update -o json` prints.
type updated struct {
	Path   string `json:"path"`
	Region string `json:"region"`
	Date   string `json:"date"`
	Types  int    `json:"types"`
	Priced int    `json:"priced"`
	// New are types that the built-in list does not have.
	New []string `json:"new"`
}

func (a *app) updateCatalog(ctx context.Context, region string) error {
	path, err := newerPath()
	if err != nil {
		return err
	}
	acc, err := api.Open(ctx, region)
	if err != nil {
		return err
	}
	n, err := acc.Types(ctx, time.Now(), func(what string) {
		if !a.quiet {
			fmt.Fprintf(a.err, "asking AWS for the %s of %s ...\n", what, acc.Region)
		}
	})
	if err != nil {
		return err
	}
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	answer := updated{Path: path, Region: n.Region, Date: n.Date, Types: len(n.Types), New: []string{}}
	for _, o := range n.Types {
		if o.USDPerHour > 0 {
			answer.Priced++
		}
		if !catalog.BuiltIn(o.Type) {
			answer.New = append(answer.New, o.Type)
		}
	}
	if err := aws.WriteFile(path, append(text, '\n')); err != nil {
		return err
	}
	if a.output == "json" {
		return a.writeJSON(answer)
	}
	_, err = fmt.Fprintf(a.out, "%s has %d instance types, %d with a price, %d that muster did not know: %s\n",
		answer.Region, answer.Types, answer.Priced, len(answer.New), path)
	return err
}

func (a *app) catalogShow() *cobra.Command {
	c := &cobra.Command{
		Use:   "show TYPE...",
		Short: "Say what is known of instance types",
		Long: `Show says what muster knows of instance types, and since when. Those of a family
without accelerators follow from their names where no list has them.`,
		Example: "  muster catalog show p5e.48xlarge c6i.large\n  muster catalog show p5e.48xlarge -o json | jq '.types[0].gpu'",
		Args:    cobra.MinimumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return catalog.Names(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, names []string) error { return a.showTypes(names) },
	}
	return c
}

// typesAnswer is what `muster catalog show -o json` prints.
type typesAnswer struct {
	Types []shownType `json:"types"`
}

// shownType is an instance type, and the source of its facts.
type shownType struct {
	catalog.Offer
	// Source is AWS for a newer list, and else that of the built-in one.
	Source string `json:"source"`
	Date   string `json:"date"`
}

func (a *app) showTypes(names []string) error {
	var answer typesAnswer
	for _, name := range names {
		s, err := shown(name)
		if err != nil {
			return err
		}
		answer.Types = append(answer.Types, s)
	}
	if a.output == "json" {
		return a.writeJSON(answer)
	}
	t := page.Table{{"TYPE", "CPUS", "MEMORY", "GPUS", "EFA", "NETWORK", "DISKS", "PER HOUR", "AS OF"}}
	for _, s := range answer.Types {
		t.Add(s.Type, strconv.Itoa(s.VCPUs), count.Bytes(int64(s.MemoryMiB)<<20), devicesOf(s.Instance), page.OrDash(number(s.EFA, "")),
			page.OrDash(number(s.NetworkMbps/1000, " Gbit/s")), page.OrDash(number(s.NVMeGB, " GB")), page.OrDash(perHour(s.USDPerHour)), s.Date)
	}
	return t.Write(a.out)
}

func shown(name string) (shownType, error) {
	if o, ok := catalog.OfferOf(name); ok {
		return shownType{Offer: o, Source: "AWS", Date: catalog.AsOf()}, nil
	}
	in, ok := catalog.Lookup(name)
	if !ok {
		text := fmt.Sprintf("the instance type %q is in no list: the built-in one is of %s", name, catalog.Date)
		if near := catalog.Nearest(name); near != "" {
			return shownType{}, fmt.Errorf("%s; did you mean %s?", text, near)
		}
		return shownType{}, fmt.Errorf("%s; `muster catalog update` asks AWS", text)
	}
	s := shownType{Offer: catalog.Offer{Instance: in, Cards: max(1, in.EFA)}, Source: catalog.Source, Date: catalog.Date}
	if traits, ok := catalog.TraitsOf(name); ok {
		s.Cards, s.ClusterGroup, s.Spot, s.CapacityBlock = traits.Cards, traits.ClusterGroup, traits.Spot, traits.CapacityBlock
	}
	if price, ok := catalog.OnDemand(name); ok {
		s.USDPerHour = price.USD
	}
	return s, nil
}

// devicesOf is an instance's accelerators in a word: "8 h200".
func devicesOf(in catalog.Instance) string {
	switch {
	case in.GPU.Name != "" && in.GPU.Count == 0:
		return "part of " + in.GPU.Name
	case in.GPU.Name != "":
		return fmt.Sprintf("%d %s", in.GPU.Count, in.GPU.Name)
	case in.Accelerator != "":
		return fmt.Sprintf("%d %s", in.AcceleratorCount, in.Accelerator)
	}
	return "-"
}

// number is a number with its unit, empty for none.
func number(n int, unit string) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n) + unit
}

func perHour(usd float64) string {
	if usd == 0 {
		return ""
	}
	return "$" + strconv.FormatFloat(usd, 'g', 6, 64)
}

// newerPath is where the newer list of instance types stands.
func newerPath() (string, error) {
	home, err := homeDir()
	return filepath.Join(home, "catalog.d", "types.json"), err
}

// newerTypes reads the newer list of instance types. One that cannot be read is said
// once and left out.
func newerTypes(say io.Writer) *catalog.Newer {
	path, err := newerPath()
	if err != nil {
		return nil
	}
	data, err := whole.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return siteTypes()
	}
	var n *catalog.Newer
	if err == nil {
		n, err = catalog.Read(data)
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err // the message has the path
	}
	if err != nil {
		fmt.Fprintf(say, "muster: the newer list of instance types in %s is left out: %s; `muster catalog update` makes it anew\n", path, strings.TrimSpace(err.Error()))
		return nil
	}
	return n
}
