package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/muster-hpc/muster/test/cloud"
	"github.com/muster-hpc/muster/test/cloud/ec2"
)

const reservePath = "/muster-cloud/reserve"

// blockLasts is how long a capacity block lasts that was not told otherwise.
const blockLasts = 24 * time.Hour

// reserves lets somebody outside make capacity reservations and blocks. Times are
// the double's: starts and lasts are from its now.
func (b *bridge) reserves(mux *http.ServeMux, c *cloud.Cloud) {
	mux.HandleFunc("POST "+reservePath, func(w http.ResponseWriter, r *http.Request) {
		count, err := strconv.Atoi(r.FormValue("count"))
		starts, err1 := time.ParseDuration(r.FormValue("starts"))
		lasts, err2 := time.ParseDuration(r.FormValue("lasts"))
		if err != nil || err1 != nil || err2 != nil {
			http.Error(w, "want a count, and durations such as 1h", http.StatusBadRequest)
			return
		}
		one := ec2.Reservation{
			Type: r.FormValue("type"), Zone: r.FormValue("zone"), Count: count, Match: "targeted", Start: c.Clock.Now().Add(starts),
		}
		if one.Block = r.FormValue("block") != ""; one.Block {
			one.End = one.Start.Add(lasts)
		}
		fmt.Fprintln(w, c.EC2.AddReservation(one))
	})
}

// reserve makes a reservation, or with --block a capacity block, which begins after
// STARTS and lasts LASTS of the double's time, and prints its ID.
func reserve(ctx context.Context, dir string, args []string) error {
	form := url.Values{"type": {args[0]}, "zone": {args[1]}, "count": {args[2]}, "starts": {"0s"}, "lasts": {blockLasts.String()}}
	for i, name := range []string{"block", "starts", "lasts"} {
		if at := 3 + i; at < len(args) {
			form.Set(name, args[at])
		}
	}
	text, err := control(ctx, dir, reservePath, form)
	fmt.Print(text)
	return err
}
