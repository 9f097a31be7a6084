package store

import (
	"net/http"
	"time"
)

// mostSkew is how far apart clocks may be. It is what the SDK allows, which signs the next attempt by the clock of the answers.
const mostSkew = 4 * time.Minute

// skewed reports whether a request may have been refused for its time. The SDK knows that by the code of an error; the answer to HEAD has
// none, but a date.
func skewed(err error) bool {
	req := request(err)
	if req == nil || req.Method != http.MethodHead || status(err) != http.StatusForbidden {
		return false
	}
	signed, signedErr := time.Parse("20060102T150405Z", req.Header.Get("X-Amz-Date"))
	answered, answeredErr := http.ParseTime(answer(err).Header.Get("Date"))
	return signedErr == nil && answeredErr == nil && answered.Sub(signed).Abs() > mostSkew
}
