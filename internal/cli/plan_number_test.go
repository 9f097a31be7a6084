package cli

import (
	"testing"

	"github.com/muster-hpc/muster/internal/plan"
	"github.com/muster-hpc/muster/internal/say/count"
)

func TestNumbers_of_a_plan(t *testing.T) {
	for _, row := range []struct{ got, want string }{
		{count.Thousands(0), "0"}, {count.Thousands(999), "999"}, {count.Thousands(15360), "15,360"}, {count.Thousands(1234567.6), "1,234,568"}, {count.Thousands(-1000), "-1,000"},
		{count.Dollars(0), "$0.00"}, {count.Dollars(34.6), "$34.60"}, {count.Dollars(99.99), "$99.99"}, {count.Dollars(99.999), "$100"}, {count.Dollars(2768), "$2,768"}, {count.Dollars(930048), "$930,048"},
		{unitPrice(0.68), "$0.68"}, {unitPrice(34.6), "$34.60"}, {unitPrice(55), "$55.00"}, {unitPrice(21.957642), "$21.957642"}, {unitPrice(0.0042), "$0.0042"},
		{plan.Cost{USD: 5}.Words(), "$5.00"}, {plan.Cost{Missing: []string{"x"}}.Words(), "unknown"}, {plan.Cost{USD: 5, Missing: []string{"x"}}.Words(), "at least $5.00"},
		{decimal(0, "B"), "0 B"}, {decimal(980e9, "B"), "980 GB"}, {decimal(1.57e12, "B"), "1.57 TB"}, {decimal(999.9e9, "B"), "1 TB"}, {decimal(2432e12, "B"), "2.43 PB"},
		{binary(512), "512 MiB"}, {binary(2048 << 10), "2 TiB"}, {binary(160 << 20), "160 TiB"}, {binary(144384), "141 GiB"},
		{gbps(3200), "3,200 Gbps"}, {gbps(256000), "256 Tbps"},
		{rough(4.24), "4.2"}, {rough(0.584), "0.58"}, {rough(79.2), "79"}, {rough(133), "130"}, {rough(0), "0"}, {rough(1e-5), "< 0.01"}, {percent(0.95), "95.0 %"}, {percent(0.99996), "> 99.9 %"},
		{seconds(25.3), "25 s"}, {seconds(69.2 * 60), "69 min"}, {seconds(79.2 * 3600), "79 h"}, {seconds(24.2 * 86400), "24 days"},
		{duration(336), "14 days"}, {duration(24), "1 day"}, {duration(36), "36 h"}, {duration(100), "100 h"}, {duration(0.5), "0.5 h"},
		{parameters(70e9), "70B"}, {parameters(1.5e12), "1.5T"}, {parameters(350e6), "350M"}, {parameters(1000), "1,000"},
	} {
		if row.got != row.want {
			t.Errorf("got %q, want %q", row.got, row.want)
		}
	}
}
