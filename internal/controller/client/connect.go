package client

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
)

// Connect asks the controller whose socket is in a folder for a service of its machine.
// From then on the connection is the service's, and what it says is read from the reader.
func Connect(ctx context.Context, dir, service string) (net.Conn, *bufio.Reader, error) {
	conn, err := dial(ctx, dir)
	if err != nil {
		return nil, nil, err
	}
	r, err := upgrade(ctx, conn, service)
	if err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	return conn, r, nil
}

func upgrade(ctx context.Context, conn net.Conn, service string) (*bufio.Reader, error) {
	ask, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://controller/v1/connect/"+service, http.NoBody)
	if err != nil {
		return nil, err
	}
	ask.Header.Set("Connection", "Upgrade")
	ask.Header.Set("Upgrade", "muster")
	if err := ask.Write(conn); err != nil {
		return nil, err
	}
	r := bufio.NewReader(conn)
	answer, err := http.ReadResponse(r, ask)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusSwitchingProtocols {
		said, _ := io.ReadAll(io.LimitReader(answer.Body, saidLimit))
		return nil, errors.Join(errors.New(string(said)), answer.Body.Close())
	}
	return r, nil
}
