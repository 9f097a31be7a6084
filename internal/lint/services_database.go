package lint

import (
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/spec"
)

// accounting has the rules about Slurm's database.
func accounting(root spec.View) {
	slurm := root.At("Scheduling.SlurmSettings")
	databaseURI(slurm.At("Database.Uri"))
	secret(slurm.At("Database.PasswordSecretArn"), root.Key("Region"))
	munge, daemon := slurm.Key("MungeKeySecretArn"), slurm.Key("ExternalSlurmdbd")
	if filled(munge) {
		if service, kind := arnParts(munge.Text()); service != "secretsmanager" || kind != "secret" {
			munge.Errorf("secret/arn", "%s is no secret of Secrets Manager", quoted(munge.Text())).
				WithHint("write arn:aws:secretsmanager:REGION:ACCOUNT:secret:NAME; `aws secretsmanager list-secrets` lists them")
		}
	}
	if !daemon.Present() {
		return
	}
	daemon.Warnf("database/unencrypted", "what the cluster and the external slurmdbd say to each other is not encrypted").
		WithHint("let it run in a network that you trust")
	if !munge.Present() {
		daemon.Errorf("database/munge-key", "an external slurmdbd needs MungeKeySecretArn").
			WithHint("put the slurmdbd's munge key into a secret, and add MungeKeySecretArn to SlurmSettings")
	}
}

// databaseURI holds ParallelCluster's DatabaseUriValidator: a host, perhaps with
// a port.
func databaseURI(v spec.View) {
	if !filled(v) {
		return
	}
	uri := v.Text()
	if bare := withoutScheme(uri); bare != uri {
		d := v.Errorf("database/uri", "%s is no address of a database: it begins with more than a host", quoted(uri)).
			WithHint("write HOST:PORT, for example db.example.com:3306")
		if _, _, ok := hostPort(bare); ok && bare != "" {
			d.WithHint("write %s", bare).WithFix(v.Replace(bare))
		}
		return
	}
	host, port, ok := hostPort(uri)
	switch {
	case !ok || host == "":
		v.Errorf("database/uri", "%s is no address of a database", quoted(uri)).WithHint("write HOST:PORT, for example db.example.com:3306")
	case port == 0:
		v.Infof("database/port", "the database's address has no port; 3306 is assumed").WithHint("write %s:3306", host)
	}
}

// withoutScheme is an address without the protocol or the slashes in front.
func withoutScheme(uri string) string {
	if _, rest, ok := strings.Cut(uri, "://"); ok && urlScheme(uri) != "" {
		return rest
	}
	return strings.TrimLeft(uri, "/")
}

// hostPort reads an address such as "user@host:3306/name"; a port of 0 is none.
func hostPort(address string) (host string, port int, ok bool) {
	if i := strings.IndexAny(address, "/?#"); i >= 0 {
		address = address[:i]
	}
	address = address[strings.LastIndex(address, "@")+1:]
	rest := ""
	if strings.HasPrefix(address, "[") {
		host, rest, ok = strings.Cut(address, "]")
		host += "]"
		if rest = strings.TrimPrefix(rest, ":"); !ok {
			return "", 0, false
		}
	} else {
		host, rest, _ = strings.Cut(address, ":")
	}
	if rest == "" {
		return host, 0, true
	}
	n, err := strconv.ParseUint(rest, 10, 16)
	return host, int(n), err == nil
}
