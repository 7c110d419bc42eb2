"""Spark works on a table that floe is writing: it reads, compacts, expires, sets back, evolves, deletes and merges, and floe goes on; every
row is compared as Spark, PyIceberg, DuckDB and a reader in JavaScript see it. Started by .ci/engines, which sets the environment."""

import collections
import datetime
import decimal
import glob
import json
import os
import signal
import subprocess
import sys
import time

import duckdb
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import NoSuchTableError

REGIONS = ["eu", "us", "ap", "O'Brien/ü %"]
PARTITIONS = 3
TOPIC, TABLE = "engines", "db.engines"
S3 = {"s3.endpoint": os.environ["FLOE_TEST_S3"], "s3.access-key-id": "test", "s3.secret-access-key": "test", "s3.region": "us-east-1"}
COLUMNS = ["id", "region", "amount", "event_time", "note", "extra"]
started = time.monotonic()


def say(text):
    print(f"{time.monotonic() - started:4.0f} s  {text}", flush=True)


def record(part, i, extra):
    """The record i of a partition. Where extra says so it has a field for the column that Spark adds, under both of its names."""
    r = {"id": part * 1_000_000 + i, "region": REGIONS[(part + i) % 4], "amount": f"{i % 1000}.{i % 100:02d}",
         "event_time": f"2026-0{1 + i % 3}-15T0{i % 10}:00:00.{i % 1000:03d}Z", "note": None if i % 7 == 0 else "x" * (i % 40)}
    return r | ({"extra": i, "more": i} if extra else {})


def expected(r):
    """The row that a record becomes, as Python's readers give it."""
    return {"id": r["id"], "region": r["region"], "amount": decimal.Decimal(r["amount"]), "note": r["note"], "extra": r.get("extra"),
            "event_time": datetime.datetime.fromisoformat(r["event_time"])}


class Stream:
    """Records in transactions, each followed by one that is aborted."""

    def __init__(self):
        broker = {"bootstrap.servers": os.environ["FLOE_TEST_KAFKA"]}
        admin = AdminClient(broker)
        for f in admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)]).values():
            f.result()
        self.n, self.rows, self.extra = 0, {}, False
        self.p = Producer(broker | {"transactional.id": TOPIC, "compression.type": "lz4"})
        self.p.init_transactions()

    def more(self, n):
        self.p.begin_transaction()
        for part in range(PARTITIONS):
            for i in range(self.n, self.n + n):
                r = record(part, i, self.extra)
                self.rows[r["id"]] = expected(r)
                self.p.produce(TOPIC, json.dumps(r).encode(), partition=part)
        self.p.commit_transaction()
        self.n += n
        self.p.begin_transaction()
        for part in range(PARTITIONS):
            self.p.produce(TOPIC, json.dumps(record(part, 999_999, True)).encode(), partition=part)
        self.p.flush()
        self.p.abort_transaction()


class Floe:
    """The process under test."""

    def __init__(self, binary, d):
        self.command, self.log, self.process = [binary, "run", f"{d}/floe.json"], f"{d}/floe.log", None
        with open(f"{d}/floe.json", "w") as f:
            json.dump({  # JSON is YAML
                "name": TOPIC,
                "source": {"kafka": {"brokers": [os.environ["FLOE_TEST_KAFKA"]], "topics": [TOPIC], "session_timeout": "6s"}},
                "catalog": {"type": "rest", "uri": os.environ["FLOE_TEST_REST"], **S3},
                "table": {"name": TABLE, "create": {"partition_by": ["region", "month(event_time)"], "schema": [
                    {"name": "id", "type": "long", "required": True}, {"name": "region", "type": "string"},
                    {"name": "amount", "type": "decimal(9,2)"}, {"name": "event_time", "type": "timestamptz"},
                    {"name": "note", "type": "string"}]}},
                "writer": {"seal": {"interval": "500ms"}},
                "committer": {"interval": "500ms"},
                "http": {"listen": "off"},
            }, f)

    def start(self):
        with open(self.log, "ab") as out:
            self.process = subprocess.Popen(self.command, stdout=out, stderr=out)

    def must_live(self):
        if self.process.poll() is not None:
            self.end("floe has ended by itself")

    def kill(self):
        self.must_live()
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def catch_up(self):
        with open(self.log, "ab") as out:
            if subprocess.run([*self.command[:2], "--until-caught-up", self.command[2]], stdout=out, stderr=out, timeout=240).returncode != 0:
                self.end("floe run --until-caught-up failed")

    def end(self, why):
        sys.stderr.write(open(self.log, errors="replace").read()[-6000:])
        raise SystemExit(why)


def spark_session():
    from pyspark.sql import SparkSession
    b = SparkSession.builder.master("local[2]").appName("floe")
    catalog = {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "rest", ".uri": os.environ["FLOE_TEST_REST"],
               ".io-impl": "org.apache.iceberg.aws.s3.S3FileIO", ".s3.endpoint": S3["s3.endpoint"], ".s3.path-style-access": "true",
               ".s3.access-key-id": "test", ".s3.secret-access-key": "test", ".client.region": "us-east-1", ".cache-enabled": "false"}
    for k, v in {"spark.jars": os.environ["SPARK_JARS"],
                 "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
                 **{"spark.sql.catalog.c" + k: v for k, v in catalog.items()},
                 "spark.sql.shuffle.partitions": "2", "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false",
                 "spark.sql.session.timeZone": "UTC", "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}.items():
        b = b.config(k, v)
    s = b.getOrCreate()
    s.sparkContext.setLogLevel("ERROR")
    return s


def compare(who, got, want):
    """got are dicts with the columns' first names; want is the row of each id."""
    seen = collections.Counter(r["id"] for r in got)
    lost = sum(i not in seen for i in want)
    doubled = sum(c > 1 for c in seen.values())
    foreign = sum(i not in want for i in seen)
    altered = [r for r in got if r["id"] in want and r != want[r["id"]]]
    say(f"{who}: {len(got)} rows, {lost} lost, {doubled} doubled, {foreign} foreign, {len(altered)} altered")
    if lost or doubled or foreign or altered or len(got) != len(want):
        raise SystemExit(f"{who}: the table is wrong: {[(r, want[r['id']]) for r in altered[:1]]}")


def first_names(r):
    """Spark renames the column that it has added."""
    out = {name: r.get(name) for name in COLUMNS}
    if "more" in r:
        out["extra"] = r["more"]
    return out


class Run:
    def __init__(self, binary, d):
        self.d, self.floe, self.stream, self.spark = d, Floe(binary, d), Stream(), None
        self.catalog = RestCatalog("floe", uri=os.environ["FLOE_TEST_REST"], **S3)

    def table(self):
        return self.catalog.load_table(TABLE)

    def sql(self, text):
        """Where floe has committed meanwhile and Spark gives up, it is asked again."""
        say("Spark: " + text)
        for attempt in range(6):
            try:
                return self.spark.sql(text).collect()
            except Exception as e:
                if attempt == 5 or not any(s in str(e) for s in ("CommitFailed", "ValidationException", "conflict", "Conflict")):
                    raise
                say("  lost a race against floe, once more")

    def call(self, procedure, arguments=""):
        return self.sql(f"CALL c.system.{procedure}(table => '{TABLE}'{arguments})")

    def settle(self, seconds=300):
        """Waits until the table has as many rows as were produced: nothing but floe can tell when, and it is killed now and then."""
        end, have = time.monotonic() + seconds, 0
        while have < len(self.stream.rows):
            self.floe.must_live()
            if time.monotonic() > end:
                self.floe.end(f"the table has {have} rows and not {len(self.stream.rows)}")
            time.sleep(0.3)
            try:
                head = self.table().current_snapshot()
                have = int(head.summary["total-records"]) if head else 0
            except NoSuchTableError:
                pass

    def by_spark(self, want):
        rows = [r.asDict() for r in self.spark.table(f"c.{TABLE}").collect()]
        for r in rows:
            r["event_time"] = r["event_time"].replace(tzinfo=datetime.timezone.utc)  # Spark gives the machine's, which is UTC here
        compare("Spark", [first_names(r) for r in rows], want)

    def by_pyiceberg(self, want):
        compare("PyIceberg", [first_names(r) for r in self.table().scan().to_arrow().to_pylist()], want)

    def by_duckdb(self, want):
        con = duckdb.connect()
        for e in ("avro", "httpfs", "iceberg"):
            path = next(p for site in sys.path for p in glob.glob(f"{site}/duckdb_extension_{e}/extensions/*/{e}.duckdb_extension"))
            con.execute(f"LOAD '{path}'")
        con.execute("SET TimeZone = 'UTC'")
        con.execute("CREATE SECRET (TYPE s3, KEY_ID 'test', SECRET 'test', REGION 'us-east-1', URL_STYLE 'path', USE_SSL false, "
                    f"ENDPOINT '{S3['s3.endpoint'].removeprefix('http://')}')")
        rows = con.execute(f"SELECT * FROM iceberg_scan('{self.table().metadata_location}')").to_arrow_table().to_pylist()
        compare("DuckDB", [first_names(r) for r in rows], want)

    def by_javascript(self, want):
        """The live data files, which the reader knows nothing of a table to read; there are no deletes yet."""
        table, files = self.table(), []
        for task in table.scan().plan_files():
            files.append(f"{self.d}/{len(files)}.parquet")
            with open(files[-1], "wb") as f, table.io.new_input(task.file.file_path).open() as remote:
                f.write(remote.read())
        names = {str(f.field_id): f.name for f in table.schema().fields}
        out = subprocess.run(["node", os.path.join(os.path.dirname(os.path.abspath(__file__)), "parquet.mjs"), os.environ["READER"], *files], capture_output=True, text=True, timeout=120)
        if out.returncode != 0:
            raise SystemExit(f"the JavaScript reader failed: {out.stderr[-2000:]}")
        rows = []
        for line in out.stdout.splitlines():
            r = first_names({names[k]: v for k, v in json.loads(line).items()})
            r["id"], r["amount"] = int(r["id"]), decimal.Decimal(f"{r['amount']:.2f}")
            r["event_time"] = datetime.datetime.fromisoformat(r["event_time"])
            rows.append(r)
        compare(f"JavaScript, {len(files)} files", rows, want)

    def work(self):
        table, stream, floe = f"c.{TABLE}", self.stream, self.floe
        stream.more(500)
        floe.start()
        self.spark = spark_session()
        self.settle()
        self.by_spark(stream.rows)

        stream.more(300)  # it comes in while Spark works
        self.call("rewrite_data_files", ", options => map('min-input-files', '2')")
        self.call("rewrite_manifests")
        stream.more(300)
        self.settle()
        self.by_pyiceberg(stream.rows)

        before = self.sql(f"SELECT snapshot_id FROM {table}.snapshots ORDER BY committed_at DESC LIMIT 1")[0][0]
        stream.more(300)
        self.settle()
        self.call("rollback_to_snapshot", f", snapshot_id => {before}")
        stream.more(100)
        self.settle()
        said = open(floe.log).read()  # which of the two depends on what floe was about to commit
        if "going back to the table's positions" not in said and "the table was set back" not in said:
            floe.end("floe has not said that the table was set back")
        self.by_pyiceberg(stream.rows)

        self.sql(f"ALTER TABLE {table} ADD COLUMN extra int")
        for _ in range(2):  # the batch that is open at the change still has the old schema
            stream.more(50)
            self.settle()
        stream.extra = True
        stream.more(300)
        self.sql(f"ALTER TABLE {table} ALTER COLUMN amount TYPE decimal(18,2)")
        stream.more(300)
        self.sql(f"ALTER TABLE {table} RENAME COLUMN extra TO more")
        stream.more(300)
        floe.kill()
        floe.start()
        self.settle()
        self.by_spark(stream.rows)
        self.by_javascript(stream.rows)

        self.call("expire_snapshots", ", older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1")
        floe.kill()  # it finds its positions in what is left
        floe.start()
        stream.more(100)
        self.settle()
        self.by_pyiceberg(stream.rows)
        self.delete_and_merge()

    def delete_and_merge(self):
        """By both ways of deleting, of rows that are there already, while more come."""
        table, stream = f"c.{TABLE}", self.stream
        old = stream.n
        touched = f"id % 1000000 < {old} AND"
        self.sql(f"DELETE FROM {table} WHERE {touched} id % 11 = 0")
        stream.more(200)
        self.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('write.delete.mode'='merge-on-read', 'write.merge.mode'='merge-on-read')")
        self.sql(f"DELETE FROM {table} WHERE {touched} id % 13 = 0")
        self.sql(f"MERGE INTO {table} t USING (SELECT id FROM {table} WHERE {touched} id % 17 = 0) s ON t.id = s.id "
                 "WHEN MATCHED THEN UPDATE SET t.note = 'merged'")
        stream.more(200)
        self.floe.kill()
        self.floe.catch_up()
        want = {}
        for i, r in stream.rows.items():
            was_there = i % 1_000_000 < old
            if not (was_there and (i % 11 == 0 or i % 13 == 0)):
                want[i] = r | {"note": "merged"} if was_there and i % 17 == 0 else r
        self.by_spark(want)
        self.by_pyiceberg(want)
        self.by_duckdb(want)


def main():
    r = Run(*sys.argv[1:])
    try:
        r.work()
    finally:
        if r.floe.process is not None and r.floe.process.poll() is None:
            r.floe.process.kill()
            r.floe.process.wait()
    say("other engines on the same table: ok")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    main()
