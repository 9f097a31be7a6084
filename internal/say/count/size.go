package count

import (
	"fmt"
	"time"
)

// Bytes is a number of bytes in binary units.
func Bytes(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	value, unit := float64(n)/(1<<10), 0
	const units = "KMGTPE"
	for ; value >= 1024 && unit < len(units)-1; unit++ {
		value /= 1024
	}
	if value < 9.95 {
		return fmt.Sprintf("%.1f %ciB", value, units[unit])
	}
	return fmt.Sprintf("%.0f %ciB", value, units[unit])
}

// Size is a size of a message, as those who measure name it: 8 B, 64 KiB, 1 GiB.
func Size(n float64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for ; n >= 1024 && i < len(units)-1; i++ {
		n /= 1024
	}
	if n >= 100 && n < 1e15 {
		return fmt.Sprintf("%.0f %s", n, units[i])
	}
	return fmt.Sprintf("%.3g %s", n, units[i])
}

// Brief is a short time to two figures or so: 0.05 ms, 272 ms, 2.7 s. There is no less than a hundredth of a millisecond.
func Brief(d time.Duration) string {
	ms := max(d.Seconds()*1000, 0.01)
	switch {
	case ms < 10:
		return fmt.Sprintf("%.2g ms", ms)
	case ms < 1000:
		return fmt.Sprintf("%.0f ms", ms)
	case ms < 10000:
		return fmt.Sprintf("%.1f s", ms/1000)
	}
	return fmt.Sprintf("%.0f s", ms/1000)
}

// Span is a time span as people say it, to two figures or so.
func Span(d time.Duration) string {
	switch {
	case d < 0:
		return "0 s"
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d days", int(d.Hours())/24)
}
