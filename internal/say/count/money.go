package count

import (
	"fmt"
	"math"
	"strconv"
)

// Thousands is a whole number as people write large ones: 15,360.
func Thousands(n float64) string {
	digits := strconv.FormatFloat(math.Round(math.Abs(n)), 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	if n < 0 {
		return "-" + digits
	}
	return digits
}

// Dollars is an amount of money: with cents below $100, for more is not known so well.
func Dollars(usd float64) string {
	if usd < 99.995 {
		return fmt.Sprintf("$%.2f", usd)
	}
	return "$" + Thousands(usd)
}
