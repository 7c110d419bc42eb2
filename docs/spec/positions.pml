/* Where does a topology stand? Two topologies write into one table, each by appends that are pinned and therefore atomic here
 * (commit.pml has the rest). Another engine commits; somebody sets the branch to any retained snapshot, or cherry-picks;
 * snapshots expire, and the metadata log forgets them; a person answers with `floe positions set` where floe asks.
 *
 * verify(), after every change: where a topology is told a position, the line of the head holds exactly its rows below it;
 * where it is told to start afresh, none.
 *
 * With -DNO_HISTORY the catalog shows the head alone: no parent, no log. A rollback there sets the properties back, too.
 *
 * Bounds, each given with -D: */
#ifndef NS
#define NS 6		/* snapshots */
#endif
#ifndef NO
#define NO 2		/* rows of each topology */
#endif
#ifndef FOREIGN
#define FOREIGN 1
#endif
#ifndef ROLL
#define ROLL 1
#endif
#ifndef PICK
#define PICK 1
#endif
#ifndef EXPIRE
#define EXPIRE 2
#endif
#ifndef SET
#define SET 1
#endif
/* Deviations from the rules, for which a counterexample must be found: PROPERTY_FIRST, BY_SEQUENCE, NO_CARRY, NO_DOUBT,
 * NO_PICK_CHECK, PICK_FORGOTTEN (what was picked is forgotten, and taken for another engine's), ROOT_IS_FRESH, NO_HEAD_ALONE (with NO_HISTORY). */

#define NONE 15
/* What a value says of a topology: a position, or one of these. */
#define ABSENT 14
#define UNCLEAR 13

typedef Snapshot {
	byte parent;
	bool has;		/* it carries a value */
	byte val[2];
	byte who, row;		/* it adds row `row` of topology `who`; NONE for nothing */
	byte picked;		/* cherry-picked from */
	byte gone;		/* 1: expired, but in the metadata log. 2: nobody knows it; its child still names it */
	byte prop		/* the property's snapshot when it was the newest, for a catalog without history */
};
Snapshot snap[NS];
byte ns, head = NONE;
byte prop = NONE;		/* the property: the snapshot that its commit made */
byte propVal[2] = ABSENT;
byte foreign = FOREIGN, roll = ROLL, pick = PICK, expire = EXPIRE, set = SET;

mtype:answer = { fresh, known, asks };

#ifdef SHORTEST
#define hidden
#endif
/* Scratch, set before it is used within one step. */
hidden byte w, k, o, t, at, stop, picked, val[2], rows[4], other, newRow, newTo;
hidden mtype:answer is;
byte s;				/* chosen step by step; 0 between */

/* The value that the walk of the line meets, if any: val, and where it ends: stop is the snapshot that stopped it, NONE at
 * the root; at is NONE where no value was met. picked says, by topology (1, 2), whose rows were cherry-picked on the way. */
inline walk() {
	w = head; at = NONE; stop = NONE; picked = 0; val[0] = ABSENT; val[1] = ABSENT;
	do
	:: w == NONE -> break
	:: w != NONE && snap[w].gone && prop == w ->		/* rule 2: the property names the very snapshot */
		at = w; val[0] = propVal[0]; val[1] = propVal[1]; break
	:: w != NONE && snap[w].gone == 2 && prop != w -> stop = w; break
	:: else ->
		if
		:: snap[w].has -> at = w; val[0] = snap[w].val[0]; val[1] = snap[w].val[1]; break
		:: else
		fi;
		/* Rows of a floe snapshot that lies off the branch came without their positions. Where nobody knows any more whose
		 * snapshot was picked, it counts as one (other engines' are not modelled). */
		if
#ifdef PICK_FORGOTTEN
		:: snap[w].picked != NONE && snap[snap[w].picked].gone != 2 -> picked = picked | (1 << snap[w].who)
#else
		:: snap[w].picked != NONE -> picked = picked | (1 << snap[w].who)
#endif
		:: else
		fi;
		w = snap[w].parent
	od
#ifdef PROPERTY_FIRST
	; if :: prop != NONE -> at = prop; val[0] = propVal[0]; val[1] = propVal[1]; stop = NONE :: else fi
#endif
#ifdef BY_SEQUENCE
	/* The property is younger than where the line ends: taken for the line's. Snapshots are numbered in order. */
	; if :: stop != NONE && prop != NONE && prop > stop -> at = prop; val[0] = propVal[0]; val[1] = propVal[1]; stop = NONE :: else fi
#endif
#ifdef NO_PICK_CHECK
	; picked = 0
#endif
}

/* Where does topology x stand? is, and with known its position in o. The walk has been made. */
inline stand(x) {
	o = 0;
	if
	:: picked & (1 << x) -> is = asks
	:: !(picked & (1 << x)) && val[x] == UNCLEAR -> is = asks
	:: !(picked & (1 << x)) && val[x] < UNCLEAR -> is = known; o = val[x]
	/* Nothing on the line. The property lists every topology that ever committed. */
#ifdef ROOT_IS_FRESH
	:: !(picked & (1 << x)) && val[x] == ABSENT && stop != NONE && propVal[x] != ABSENT -> is = asks
#else
	:: !(picked & (1 << x)) && val[x] == ABSENT && propVal[x] != ABSENT -> is = asks
#endif
	:: else -> is = fresh
	fi
}

/* A catalog without history: the property is of one state with the head. */
inline alone() {
	at = prop; stop = NONE; picked = 0; val[0] = propVal[0]; val[1] = propVal[1];
#ifdef NO_HEAD_ALONE
	at = NONE; val[0] = ABSENT; val[1] = ABSENT;
	if :: head != NONE && snap[head].has -> val[0] = snap[head].val[0]; val[1] = snap[head].val[1] :: else fi;
#endif
}

inline look() {
#ifdef NO_HISTORY
	alone()
#else
	walk()
#endif
}

inline count() {
	for (k : 0 .. 3) { rows[k] = 0 };
	w = head;
	do
	:: w == NONE -> break
	:: else ->
		if :: snap[w].who != NONE -> rows[snap[w].who * 2 + snap[w].row]++ :: else fi;
		w = snap[w].parent
	od
}

inline verify() {
	count();
	look();
	for (t : 0 .. 1) {
		stand(t);
		for (k : 0 .. NO - 1) {
			assert(rows[t * 2 + k] <= 1);				/* doubled */
			assert(is != known || k >= o || rows[t * 2 + k] == 1);	/* lost */
			assert(is != known || k < o || rows[t * 2 + k] == 0);	/* ahead of its positions */
			assert(is != fresh || rows[t * 2 + k] == 0)		/* would be written once more */
		}
#ifdef NO_HISTORY
		; assert(is != asks)
#endif
	};
	k = 0
}

/* A snapshot is made on the head by topology x: with its row newRow (NONE for none), after which it stands at newTo. It
 * carries the other's position forward, and says where that is unclear. The walk has been made. */
inline append(x) {
	other = 1 - x;
	t = val[other];
	stand(other);
#ifndef NO_DOUBT
	if :: is == asks -> t = UNCLEAR :: else fi;
#endif
#ifdef NO_CARRY
	t = ABSENT;
#endif
	snap[ns].parent = head; snap[ns].has = true;
	if :: newRow != NONE -> snap[ns].who = x; snap[ns].row = newRow :: else fi;
	snap[ns].val[x] = newTo; snap[ns].val[other] = t; snap[ns].prop = ns;
	propVal[x] = newTo; propVal[other] = t; prop = ns;
	head = ns; ns++;
	verify()
}

inline others(p, x, r) {
	snap[ns].parent = head; snap[ns].has = false; snap[ns].who = x; snap[ns].row = r; snap[ns].picked = p; snap[ns].prop = prop;
	snap[ns].val[0] = ABSENT; snap[ns].val[1] = ABSENT;
	head = ns; ns++;
	verify()
}

proctype Floe(byte me) {
end:	do
	:: d_step { ns < NS -> look(); stand(me);
		if
		:: is == fresh -> printf("%d: starts at 0 with snapshot %d\n", me, ns); newRow = NONE; newTo = 0; append(me)
		:: is == known && o < NO -> printf("%d: commits row %d with snapshot %d\n", me, o, ns); newRow = o; newTo = o + 1; append(me)
		:: is == asks -> printf("%d: stops and asks\n", me)
		:: else
		fi;
		k = 0 }
	od
}

proctype Person() {
end:	do
	:: d_step { foreign && ns < NS -> foreign--; printf("another engine commits snapshot %d\n", ns); others(NONE, NONE, 0) }
	:: atomic { roll && head != NONE -> s = 0;
		do
		:: s < ns - 1 -> s++
		:: break
		od;
		if
		:: d_step { s != head && !snap[s].gone -> roll--; head = s; printf("the branch is set to %d\n", s);
#ifdef NO_HISTORY
			prop = snap[s].prop;
			if
			:: prop != NONE -> propVal[0] = snap[prop].val[0]; propVal[1] = snap[prop].val[1]
			:: else -> propVal[0] = ABSENT; propVal[1] = ABSENT
			fi;
#endif
			s = 0; verify() }
		:: else -> s = 0
		fi }
#ifndef NO_HISTORY
	:: atomic { pick && ns < NS && head != NONE -> s = 0;
		do
		:: s < ns - 1 -> s++
		:: break
		od;
		/* Somebody who knows what he does: no rows that are there already. */
		if
		:: d_step { !snap[s].gone && snap[s].who != NONE && snap[s].picked == NONE -> count();
			if
			:: rows[snap[s].who * 2 + snap[s].row] == 0 -> pick--; printf("%d is cherry-picked as %d\n", s, ns);
				w = s; s = 0; t = snap[w].who; o = snap[w].row; stop = w; others(stop, t, o)
			:: else -> s = 0
			fi;
			k = 0 }
		:: else -> s = 0
		fi }
	/* Expiry of all that is older than s, but the head. */
	:: atomic { expire && head != NONE -> s = 1;
		do
		:: s < ns -> s++
		:: break
		od;
		d_step {
			expire--; printf("all before %d but the head expire\n", s);
			for (k : 0 .. NS - 1) {
				if :: k < s && k < ns && k != head && !snap[k].gone -> snap[k].gone = 1 :: else fi
			};
			s = 0; verify() }
		}
	:: d_step { head != NONE -> printf("the metadata log forgets\n");
		for (k : 0 .. NS - 1) {
			if :: snap[k].gone == 1 -> snap[k].gone = 2 :: else fi
		};
		verify() }
	/* The answer to a question: what the table holds, where that is a beginning. */
	:: d_step { set && ns < NS -> look(); stand(0);
		if
		:: is == asks -> count();
			if
			:: rows[0] >= rows[1] -> set--; newRow = NONE; newTo = rows[0] + rows[1];
				printf("a person sets 0 to %d with snapshot %d\n", newTo, ns); append(0)
			:: else
			fi
		:: else
		fi;
		k = 0 }
	:: d_step { set && ns < NS -> look(); stand(1);
		if
		:: is == asks -> count();
			if
			:: rows[2] >= rows[3] -> set--; newRow = NONE; newTo = rows[2] + rows[3];
				printf("a person sets 1 to %d with snapshot %d\n", newTo, ns); append(1)
			:: else
			fi
		:: else
		fi;
		k = 0 }
#endif
	od
}

init {
	d_step {
		for (k : 0 .. NS - 1) { snap[k].parent = NONE; snap[k].who = NONE; snap[k].picked = NONE; snap[k].prop = NONE };
		k = 0
	}
	atomic { run Floe(0); run Floe(1); run Person() }
}
