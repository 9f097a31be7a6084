package cli

import (
	"math"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/say/count"
)

// unitPrice is a price as it was given, without zeros at the end beyond cents.
func unitPrice(usd float64) string {
	text := strings.TrimRight(strconv.FormatFloat(usd, 'f', 6, 64), "0")
	point := strings.IndexByte(text, '.')
	for len(text) < point+3 {
		text += "0"
	}
	return "$" + text
}

// decimal is a quantity with a decimal prefix and about three figures: 980 GB, 2.4 PB.
func decimal(n float64, unit string) string {
	prefixes := []string{"", "k", "M", "G", "T", "P", "E"}
	i := 0
	for n >= 999.5 && i < len(prefixes)-1 {
		n /= 1000
		i++
	}
	return figures(n) + " " + prefixes[i] + unit
}

// binary is a number of MiB with a binary prefix: 160 TiB.
func binary(mib float64) string {
	units := []string{"MiB", "GiB", "TiB", "PiB", "EiB"}
	i := 0
	for mib >= 1023.5 && i < len(units)-1 {
		mib /= 1024
		i++
	}
	return figures(mib) + " " + units[i]
}

// figures is a number to three figures, without zeros behind the point.
func figures(n float64) string {
	switch {
	case n >= 99.95:
		return count.Thousands(n)
	case n >= 9.995:
		return strings.TrimSuffix(strconv.FormatFloat(n, 'f', 1, 64), ".0")
	}
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(n, 'f', 2, 64), "0"), ".")
}

// rough is a number to two figures, as estimates are.
func rough(n float64) string {
	switch {
	case n <= 0:
		return "0"
	case n < 0.005:
		return "< 0.01"
	}
	scale := math.Pow(10, math.Floor(math.Log10(n))-1)
	return figures(math.Round(n/scale) * scale)
}

// seconds is an estimated time in the unit that people use.
func seconds(s float64) string {
	switch {
	case s < 120:
		return rough(s) + " s"
	case s < 2*3600:
		return rough(s/60) + " min"
	case s < 100*3600:
		return rough(s/3600) + " h"
	}
	return rough(s/86400) + " days"
}

// duration is a number of hours as a user gives it: 14 days, 36 h.
func duration(hours float64) string {
	switch days := hours / 24; {
	case days == 1:
		return "1 day"
	case days >= 1 && days == math.Trunc(days):
		return count.Thousands(days) + " days"
	}
	return figures(hours) + " h"
}

// gbps is a rate of a network.
func gbps(n int) string {
	if n < 10_000 {
		return count.Thousands(float64(n)) + " Gbps"
	}
	return decimal(float64(n)*1e9, "bps")
}
