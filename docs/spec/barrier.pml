/* Grouping by fields: the records of one source partition go to two writers by key, and the seal is a barrier. The router
 * sends it to both; the parts of one barrier are joined into one descriptor; only that is committed. A writer may fail at
 * any time; then the group is rewound. The committer is pinned and therefore atomic here (commit.pml has the rest).
 *
 * Deviations, for which a counterexample must be found: PARTS_APART (a part is committed by itself), MIX_BARRIERS (parts are
 * joined as they come), REWIND_ONE (only the writer that failed starts over), KEEP_SEALED (a rewind leaves parts and
 * descriptors in flight). */
#ifndef NO
#define NO 4		/* records */
#endif
#ifndef NB
#define NB 3		/* barriers on their way */
#endif
#ifndef FAIL
#define FAIL 2
#endif
#define B(x) (1 << (x))

byte routed, since;		/* the next record that is routed; where the open barrier starts */
byte pos;			/* the table's position */
byte rows[NO];			/* rows of each record in the table */
byte fail = FAIL;
byte key;			/* which records go to writer 1: chosen once */
byte open[2 * NO], part[2 * NO];	/* rows in each writer's open files; in its part that waits for the other's */
byte from[2], to[2];		/* the range of the part that waits; from == to: none */
/* From the router to each writer: a record r is r, r; a barrier is its range. */
chan q0 = [NB] of { byte, byte };
chan q1 = [NB] of { byte, byte };

#ifdef SHORTEST
#define hidden
#endif
hidden byte k, f, t;

/* All starts over at the table's position. */
inline rewind() {
	for (k : 0 .. NO - 1) {
		open[k] = 0;
#ifndef REWIND_ONE
		open[NO + k] = 0;
#endif
#ifndef KEEP_SEALED
		part[k] = 0; part[NO + k] = 0;
#endif
	};
#ifndef KEEP_SEALED
	from[0] = 0; from[1] = 0; to[0] = 0; to[1] = 0;
	do
	:: nempty(q0) -> q0 ? f, t
	:: empty(q0) && nempty(q1) -> q1 ? f, t
	:: empty(q0) && empty(q1) -> break
	od;
#endif
	routed = pos; since = pos; k = 0
}

/* Commits the parts of the writers lo to hi, which say that they hold [a, z), where the table stands at a. */
inline land(a, z, lo, hi) {
	if
	:: pos == a ->
		for (k : lo * NO .. hi * NO + NO - 1) { rows[k % NO] = rows[k % NO] + part[k] };
		pos = z; printf("[%d, %d) lands\n", a, z)
	:: pos != a && z <= pos -> printf("[%d, %d) is there already\n", a, z)
	:: else -> rewind(); printf("[%d, %d) is read again at %d\n", a, z, pos)
	fi;
	for (k : lo * NO .. hi * NO + NO - 1) { part[k] = 0 };
	for (k : 0 .. NO - 1) {
		assert(rows[k] <= 1);			/* doubled */
		assert(k >= pos || rows[k] == 1);	/* lost */
		assert(k < pos || rows[k] == 0)		/* ahead of its positions */
	};
	k = 0
}

/* Writer w takes what was read from its queue: a record into its files, or a barrier, at which it seals its part. */
inline take(w) {
	if
	:: f == t -> open[w * NO + f]++
	:: else ->
		for (k : w * NO .. w * NO + NO - 1) { part[k] = open[k]; open[k] = 0 };
		printf("writer %d seals [%d, %d)\n", w, f, t);
#ifdef PARTS_APART
		land(f, t, w, w)
#else
		from[w] = f; to[w] = t
#endif
	fi;
	k = 0
}

proctype Group() {
end:	do
	:: d_step { routed < NO && !(key & B(routed)) && nfull(q0) -> q0 ! routed, routed; routed++ }
	:: d_step { routed < NO && (key & B(routed)) && nfull(q1) -> q1 ! routed, routed; routed++ }
	:: d_step { since < routed && nfull(q0) && nfull(q1) -> q0 ! since, routed; q1 ! since, routed;
		printf("barrier [%d, %d)\n", since, routed); since = routed }
	/* A writer whose part waits for the other's takes nothing: one part each. */
	:: d_step { nempty(q0) && from[0] == to[0] -> q0 ? f, t; take(0) }
	:: d_step { nempty(q1) && from[1] == to[1] -> q1 ? f, t; take(1) }
#ifdef MIX_BARRIERS
	:: d_step { from[0] < to[0] ->
#else
	:: d_step { from[0] < to[0] && from[1] == from[0] && to[1] == to[0] ->
#endif
		f = from[0]; t = to[0]; from[0] = 0; to[0] = 0; from[1] = 0; to[1] = 0;
		land(f, t, 0, 1) }
	:: d_step { fail -> fail--; printf("a writer fails\n"); rewind() }
	od
}

init {
	/* every way to spread the records */
	do
	:: key < B(NO) - 1 -> key++
	:: break
	od;
	run Group()
}
