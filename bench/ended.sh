#!/bin/bash
# ended.sh COUNT DAYS ID: puts COUNT jobs into the cluster's accounting that ended within the last DAYS, each with the step of its
# batch script: copies of job ID, which must have ended and be the only one. Their numbers come before its own, so it must be above COUNT.
set -euo pipefail
count=$1 days=$2 id=$3
sql() { runuser -u slurm -- mariadb --batch --skip-column-names slurm_acct_db "$@"; }
cluster=$(sacctmgr --noheader --parsable2 show cluster format=cluster | head -1)
jobs="\`${cluster}_job_table\`" steps="\`${cluster}_step_table\`"
end=$((SECONDS + 60))
until [ "$(sql -e "SELECT count(*) FROM $jobs WHERE id_job = $id AND time_end > 0")" = 1 ]; do
    [ "$SECONDS" -lt "$end" ] || { echo "bench: job $id has not ended" >&2; exit 1; }
    sleep 0.5
done
sql <<SQL
SET @base = (SELECT max(job_db_inx) FROM $jobs), @gap = $days * 86400 / $count, @now = unix_timestamp();
CREATE TEMPORARY TABLE many AS SELECT j.*, s.seq FROM $jobs j, seq_1_to_$count s WHERE j.id_job = $id;
UPDATE many SET job_db_inx = @base + seq, id_job = $id - $count - 1 + seq, job_name = concat('train-', seq % 7),
    time_end = @now - floor(($count - seq) * @gap), time_start = time_end - 3600, time_eligible = time_start - 60,
    time_submit = time_eligible, state = IF(seq % 10 = 0, 5, 3), exit_code = IF(seq % 10 = 0, 256, 0);
CREATE TEMPORARY TABLE parts AS SELECT t.*, s.seq FROM $steps t, seq_1_to_$count s
    WHERE t.job_db_inx = (SELECT job_db_inx FROM $jobs WHERE id_job = $id);
UPDATE parts SET job_db_inx = @base + seq, time_end = @now - floor(($count - seq) * @gap), time_start = time_end - 3600;
ALTER TABLE many DROP seq;
ALTER TABLE parts DROP seq;
INSERT INTO $jobs SELECT * FROM many;
INSERT INTO $steps SELECT * FROM parts;
SQL
