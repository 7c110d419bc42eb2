"""The soak of test/proof on real services, each started by servers.py and ended by its id.

The figures of each soak are left as JSON in the folder, beside the logs of everything.
"""

import argparse
import subprocess
import sys

import servers


def soak(o, name, broker, catalog, kills, seed, *more):
    """Runs one soak and gives its exit code. It ends its own processes, also when it is ended itself. Its topics are named
    after the seed: on one broker each soak needs another."""
    keys = [a for k, v in catalog.items() for a in ("--catalog", f"{k}={v}")]
    print(f"soak on {name}: {kills} kills, seed {seed}", flush=True)
    with open(f"{o.dir}/{name}.json", "wb") as out:
        p = subprocess.Popen([f"{o.dir}/proof", "soak", "--json", "--floe", f"{o.dir}/floe", "--dir", f"{o.dir}/{name}",
                              "--brokers", broker, "--kills", str(kills), "--seed", str(seed), *keys, *more, *o.soak],
                             stdout=out)
        servers.started.append((name, p))
        code = p.wait()
    print(open(f"{o.dir}/{name}.json").read(), flush=True)
    return code


def main():
    a = argparse.ArgumentParser()
    for k in ("kafka", "rest", "log4j", "dir"):
        a.add_argument("--" + k, required=True)
    a.add_argument("--kills", type=int, required=True)
    a.add_argument("--seed", type=int, required=True)
    a.add_argument("--only", default="rest-s3,postgres")
    a.add_argument("--proxy", default="all", help="faults between floe and the REST catalog; empty for none")
    a.add_argument("soak", nargs="*", help="more flags for proof soak, after --")
    o = a.parse_args()
    d, only = o.dir, o.only.split(",")
    share = -(-o.kills // len(only))
    codes = []
    try:
        broker = servers.kafka(o.kafka, o.log4j, d)
        if "rest-s3" in only:
            s3url = servers.s3(d)
            catalog = {"type": "rest", "uri": servers.rest(o.rest, d, s3url), **servers.s3_keys(s3url)}
            codes.append(soak(o, "rest-s3", broker, catalog, share, o.seed, *(["--proxy", o.proxy] if o.proxy else [])))
        if "postgres" in only:
            catalog = {"type": "postgres", "uri": servers.postgres_uri(servers.postgres(d)), "warehouse": f"file://{d}/warehouse"}
            codes.append(soak(o, "postgres", broker, catalog, share, o.seed + 1))
    finally:
        servers.stop_all()
    print(f"soak on real services: {'ok' if not any(codes) else 'failed, or something was found'}; all logs are in {d}", flush=True)
    sys.exit(max(codes))


if __name__ == "__main__":
    servers.tidy_on_signals()
    main()
