package cli

import (
	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/verify/sheet"
)

// verifyPage makes of a report the page that a team keeps.
func (a *app) verifyPage() *cobra.Command {
	var junit bool
	c := &cobra.Command{
		Use:   "page REPORT",
		Short: "Write a report as one page of HTML, or as JUnit's XML",
		Long: `Page reads what "muster verify -o json" wrote and writes it as one page that needs
nothing else: verdicts, numbers with their sources, plots. With --junit it is the
XML that CI reads. REPORT is its file, or the directory that --report made. It needs
no cluster.`,
		Example: "  muster verify -o json > report.json; muster verify page report.json > report.html\n  muster verify page --junit report.json > report.xml",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			report, err := readReport(c.Context(), reportIn(args[0]))
			if err != nil {
				return err
			}
			write := func() ([]byte, error) { return sheet.HTML(report, sheet.Options{Hosts: hostsOf}) }
			if junit {
				write = func() ([]byte, error) { return sheet.JUnit(report) }
			}
			text, err := write()
			if err != nil {
				return err
			}
			_, err = a.out.Write(text)
			return err
		},
	}
	c.Flags().BoolVar(&junit, "junit", false, "JUnit's XML")
	return c
}
