# shellcheck shell=bash
# What the benchmarks of data share: muster-stand's S3 server on this machine, and a client's credentials for it.

printf '[default]\naws_access_key_id = AKIDBENCH\naws_secret_access_key = secret\n' >credentials
chmod 600 credentials
export AWS_SHARED_CREDENTIALS_FILE=$PWD/credentials AWS_CONFIG_FILE=/dev/null AWS_REGION=us-east-1 AWS_EC2_METADATA_DISABLED=true
unset AWS_PROFILE AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_CA_BUNDLE MUSTER_CLUSTER

# quietly COMMAND...: what it says is of interest only if it fails.
quietly() { "$@" >said 2>&1 || { cat said >&2; return 1; }; }

# spent COMMAND... prints the seconds, CPU seconds, megabytes of memory, and seconds to the disk that a command takes.
CGO_ENABLED=0 quietly go build -C "$ROOT" -trimpath -o "$PWD/spent" ./bench/spent

servers=()

# serve NAME DIR: starts a server whose objects are the files of DIR. Its address is in the file address-NAME.
serve() {
    "$MUSTER-stand" s3 --root "$2" --listen 127.0.0.1:0 --address-file "address-$1" --credentials credentials 2>"server-$1" &
    servers+=($!)
    until [ -s "address-$1" ]; do
        kill -0 "${servers[-1]}"
        sleep 0.1
    done
}

# end_servers ends them all. What one said is shown if it failed.
end_servers() {
    kill "${servers[@]}" || true
    wait "${servers[@]}" || cat server-* >&2
}
