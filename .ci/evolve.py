"""Records change the schema of a table on real services while they flow, from two writers at once, and floe is killed in between.
Every row is compared by PyIceberg. The services are those of `go run ./test/services start kafka rest postgres -- ...`.
"""

import json
import os
import signal
import subprocess
import sys
import time

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NoSuchTableError

PARTITIONS, RECORDS = 2, 1200


def growing(part, i):
    """The record i of a partition, of which later ones have more fields, larger numbers and no value for a required column."""
    r = {"id": part * 1_000_000 + i, "n": i, "must": f"m{i}", "place": {"lat": i / 4}}
    if i >= 300:
        r["extra"], r["tags"] = i, [f"t{i}", None]
        r["place"]["lon"] = i / 8
    if i >= 600:
        r["n"] = 5_000_000_000 + i
    if i >= 900:
        del r["must"]
        r["deep"] = {"a": {"b": i % 2 == 0}, "c": [{"d": i}]}
    return r


def with_nulls(value, like):
    """value with null for what the schema has more."""
    if isinstance(like, dict):
        return None if value is None else {k: with_nulls(value.get(k), v) for k, v in like.items()}
    if isinstance(like, list) and value is not None:
        return [with_nulls(v, like[0]) for v in value]
    return value


def config(path, name, broker, catalog):
    with open(path, "w") as f:
        json.dump({  # JSON is YAML
            "name": name,
            "source": {"kafka": {"brokers": [broker], "topics": [name], "session_timeout": "6s"}},
            "catalog": catalog,
            "table": {"name": f"db.{name}", "evolve": ["add", "widen", "optional"], "create": {
                "partition_by": ["bucket(2, id)"], "schema": [
                    {"name": "id", "type": "long", "required": True}, {"name": "n", "type": "int"},
                    {"name": "must", "type": "string", "required": True}, {"name": "place", "type": "struct<lat: double>"}]}},
            "writer": {"tasks": 2, "seal": {"records": 400, "interval": "1s"}},
            "committer": {"interval": "100ms"},
            "http": {"listen": "off"},
        }, f)


def rows_of(load, table):
    try:
        return load(table).scan().count()
    except NoSuchTableError:
        return 0


def end(log, why):
    sys.stderr.write(open(log, errors="replace").read()[-6000:])
    raise SystemExit(why)


def evolve(floe, d, name, broker, catalog, load):
    path, log = f"{d}/{name}.yaml", f"{d}/{name}.log"
    config(path, name, broker, catalog)
    admin = AdminClient({"bootstrap.servers": broker})
    for f in admin.create_topics([NewTopic(name, PARTITIONS, 1)]).values():
        f.result()
    p = Producer({"bootstrap.servers": broker})

    def send(lo, hi):
        for i in range(lo, hi):
            for part in range(PARTITIONS):
                p.produce(name, json.dumps(growing(part, i)).encode(), partition=part)
        p.flush()

    send(0, 200)
    with open(log, "ab") as out:
        if subprocess.run([floe, "validate", path], stdout=out, stderr=out, timeout=120).returncode != 0:
            end(log, f"{name}: floe validate failed")
        running = subprocess.Popen([floe, "run", path], stdout=out, stderr=out)
    try:
        give_up = time.time() + 120
        while rows_of(load, f"db.{name}") < PARTITIONS * 200:  # so that the rest comes while it works
            if running.poll() is not None or time.time() > give_up:
                end(log, f"{name}: floe wrote nothing")
            time.sleep(0.2)
        for lo in range(200, RECORDS - 100, 50):
            send(lo, lo + 50)
            time.sleep(0.2)
    finally:
        running.send_signal(signal.SIGKILL)
        running.wait()
    send(RECORDS - 100, RECORDS)
    with open(log, "ab") as out:
        if subprocess.run([floe, "run", "--until-caught-up", path], stdout=out, stderr=out, timeout=120).returncode != 0:
            end(log, f"{name}: floe run --until-caught-up failed")
    compare(name, load(f"db.{name}"))


def compare(name, table):
    whole = growing(0, RECORDS - 1) | {"must": ""}
    want = {r["id"]: with_nulls(r, whole) for r in (growing(part, i) for part in range(PARTITIONS) for i in range(RECORDS))}
    got = table.scan().to_arrow().to_pylist()
    wrong = [r["id"] for r in got if want.get(r["id"]) != r]
    types = {f.name: (str(f.field_type), f.required) for f in table.schema().fields}
    print(f"{name}: {len(got)} rows, {len(wrong)} wrong, {len(table.schemas())} schemas, {len(table.snapshots())} snapshots", flush=True)
    if len(got) != len(want) or len({r["id"] for r in got}) != len(want) or wrong:
        raise SystemExit(f"{name}: the table is wrong: {[(r, want.get(r['id'])) for r in got if r['id'] in wrong[:1]]}")
    if types["n"] != ("long", False) or types["must"][1] or len(table.schemas()) > 10:
        raise SystemExit(f"{name}: the schema is wrong: {types}, {len(table.schemas())} schemas")


def main():
    floe, d = sys.argv[1:]
    broker, uri, rest = (os.environ["FLOE_TEST_" + k] for k in ("KAFKA", "POSTGRES", "REST"))
    warehouse = f"file://{d}/warehouse"
    evolve(floe, d, "evolve_postgres", broker, {"type": "postgres", "uri": uri, "warehouse": warehouse},
           lambda t: SqlCatalog("default", uri=uri.replace("postgres://", "postgresql+psycopg2://").split("?")[0],
                                warehouse=warehouse).load_table(t))
    keys = {"s3.endpoint": os.environ["FLOE_TEST_S3"], "s3.access-key-id": "test", "s3.secret-access-key": "test", "s3.region": "us-east-1"}
    evolve(floe, d, "evolve_rest", broker, {"type": "rest", "uri": rest, **keys},
           lambda t: RestCatalog("floe", uri=rest, **keys).load_table(t))


if __name__ == "__main__":
    main()
