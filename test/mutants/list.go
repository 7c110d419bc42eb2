package main

const (
	judge  = "internal/protocol/judge.go"
	entry  = "internal/protocol/entry.go"
	find   = "internal/protocol/find.go"
	group  = "committer/group.go"
	try    = "committer/attempt.go"
	settle = "committer/settle.go"
	place  = "topology/place.go"
	write  = "topology/worker_write.go"
	finish = "committer/finish.go"
	outbox = "committer/rejects.go"
	shelf  = "internal/protocol/rejects.go"
	asks   = "committer/questions.go"
)

// committerTests, topologyTests and harnessTests are where tests of the running code lie.
func committerTests(run string) suite { return suite{"./committer", run} }
func topologyTests(run string) suite  { return suite{"./topology", run} }
func harnessTests(run string) suite   { return suite{"./internal/harness", run} }

// rejectsModel is the exploration of rejects and their outbox.
func rejectsModel(world string) suite {
	return suite{modelPkg, subtest("TestEveryStateKeepsEachRejectOnce", world)}
}

var mutants = []mutant{
	{
		name: "contiguity is not checked", spec: "NO_CONTIGUITY",
		model: "two instances race, answers are lost, both crash",
		edits: []edit{{judge, "\tswitch len(ranges) {\n\tcase starts:\n\t\treturn Commit\n\tcase there:\n\t\treturn AlreadyThere\n\t}\n\treturn Reread\n}\n",
			"\t_, _ = starts, there\n\treturn Commit\n}\n"}},
		tests: []suite{committerTests("TestAZombieIsHarmless"), harnessTests("TestAnotherInstanceBetweenTwoAttempts")},
	},
	{
		name: "the check is made once", spec: "CHECK_ONCE",
		rule:  "it is checked once instead of before every attempt",
		edits: []edit{{group, "\t\tif !c.sortOut(g, v) {", "\t\tif n == 0 && !c.sortOut(g, v) {"}},
		tests: []suite{harnessTests("TestAnotherInstanceBetweenTwoAttempts")},
	},
	{
		name: "only the end is asked for", spec: "END_ONLY",
		model: "two instances race, answers are lost, both crash",
		edits: []edit{{judge, "\t\treturn AlreadyThere\n\t}\n\treturn Reread\n}\n", "\t\treturn AlreadyThere\n\t}\n\treturn Commit\n}\n"}},
		tests: []suite{committerTests("TestABatchOfWhichAPartIsThereIsReadAgain")},
	},
	{
		name: "a descriptor of which a part is there is committed", spec: "PART_THERE",
		model: "two instances race, answers are lost, both crash",
		edits: []edit{{judge, "\t\treturn AlreadyThere\n\t}\n\treturn Reread\n}\n",
			"\t\treturn AlreadyThere\n\t}\n\tif starts+there == len(ranges) {\n\t\treturn Commit\n\t}\n\treturn Reread\n}\n"}},
		tests: []suite{committerTests("TestABatchOfWhichAPartIsThereIsReadAgain")},
	},
	{
		name: "a descriptor of which a part is there is dropped", spec: "DROP_PART",
		model: "two instances race, answers are lost, both crash",
		edits: []edit{{judge, "\t\treturn AlreadyThere\n\t}\n\treturn Reread\n}\n",
			"\t\treturn AlreadyThere\n\t}\n\tif there > 0 {\n\t\treturn AlreadyThere\n\t}\n\treturn Reread\n}\n"}},
		tests: []suite{committerTests("TestABatchOfWhichAPartIsThereIsReadAgain")},
	},
	{
		name: "a retry is not pinned", spec: "NO_PIN",
		rule:  "a retry is not pinned",
		edits: []edit{{try, "\tif err := tx.AssertRefSnapshotID(c.cfg.Branch); err != nil {\n\t\treturn nil, err\n\t}\n", ""}},
		tests: []suite{committerTests("TestAStaleRequestIsNotReplayed")},
	},
	{
		name: "the property comes before the summary", spec: "PROPERTY_FIRST",
		model: "the branch is set back and forth",
		edits: []edit{{find, "\tvar picked []int64\n", "\tif h.Own != nil {\n\t\tf.Place, f.Value = AtProperty, h.Own.Value\n\t\treturn f.conclude(h, topology, true)\n\t}\n\tvar picked []int64\n"}},
		tests: []suite{committerTests("TestARollbackRewindsTheStream"), harnessTests("TestRollbackWhileDown")},
	},
	{
		name: "the property counts by its sequence number", spec: "BY_SEQUENCE",
		model: "the line ends where another engine's snapshot has expired",
		edits: []edit{{find, "if p := h.named(*id); p != nil {", "if p := h.Own; p != nil {"}},
		tests: []suite{committerTests("TestWhatAPersonMustDecideStopsTheCommitter")},
	},
	{
		name: "a partition opens where the source says", spec: "OPEN_AT_GROUP",
		rule:  "an instance opens at the consumer group's offset",
		edits: []edit{{place, "\t\t\tat[p] = pr.Next\n", "\t\t\tif at[p], err = r.cfg.Source.Start(ctx, p, source.OriginConfigured); err != nil {\n\t\t\t\treturn nil, err\n\t\t\t}\n\t\t\t_ = pr\n"}},
		tests: []suite{harnessTests("TestStartLatestLosesNothing")},
	},
	{
		name: "parts of a group are committed apart", spec: "PARTS_APART",
		rule: "the parts of a group are committed apart",
		edits: []edit{{write, "\tw.send(d, flush)\n", "\tif len(d.Files) < 2 {\n\t\tw.send(d, flush)\n\t}\n\tfor i := 0; len(d.Files) > 1 && i < len(d.Files); i++ {\n" +
			"\t\tpart := *d\n\t\tpart.Files, part.Rows = d.Files[i:i+1], d.Files[i].Count()\n\t\tw.send(&part, flush)\n\t}\n"}},
		tests: []suite{harnessTests("TestPlainRun")},
	},
	{
		name: "a missing position is zero", spec: "MISSING_IS_ZERO",
		rule: "a missing position is taken for zero",
		edits: []edit{
			{judge, "\t\tcase !ok || r.From >= r.To:", "\t\tcase ok && r.From >= r.To:"},
			{place, "\t\tif _, there := now.At[p]; there {\n\t\t\tcontinue\n\t\t}\n\t\tif bounds,", "\t\tif p.ID >= 0 {\n\t\t\tcontinue\n\t\t}\n\t\tif bounds,"},
			{place, "\t\tif pr, there := now.At[p]; there {\n\t\t\tat[p]", "\t\tif pr := now.At[p]; r != nil || bounds != nil {\n\t\t\tat[p]"},
		},
		tests: []suite{topologyTests("TestFirstPositionsAreRecordedForAllPartitionsBeforeAnythingIsRead"), harnessTests("TestStartLatestLosesNothing")},
	},
	{
		name: "an entry is adopted without looking", spec: "ADOPT_BLIND",
		rule: "entries are adopted without a look",
		edits: []edit{
			{entry, "\tcase e.SameTable && e.Seen.On:\n\t\treturn Delete, nil\n", ""},
			{entry, "\t\tout[i] = batchFate(fates[i], ", "\t\tout[i] = batchFate(Commit, "},
			{group, "\tif g.last == 0 && !g.adopted {", "\tif g.last == 0 {"},
			{group, "\t\tif !c.sortOut(g, v) {", "\t\tif !(g.adopted && n == 0) && !c.sortOut(g, v) {"},
		},
		tests: []suite{committerTests("TestACrashBetweenCommitAndDeleteLeavesNothingToDo")},
	},
	{
		name: "files of a commit that was rolled back are used again", spec: "REUSE",
		model: "and snapshots expire",
		edits: []edit{
			{judge, "\tcase seen.Off || seen.Hidden:\n\t\treturn Never\n", ""},
			{entry, "\tcase !e.SameTable, e.Seen.Off:", "\tcase !e.SameTable:"},
		},
		tests: []suite{committerTests("TestFilesOfARolledBackCommitAreNotUsedAgain|TestAnEntryOfARolledBackCommitIsNotAdopted")},
	},
	{
		name: "files are deleted on an unknown answer", spec: "DELETE_ON_UNKNOWN",
		rule:  "files are deleted on an unknown outcome",
		edits: []edit{{group, "\t\tg.unsure = true\n\t\tc.suffer(fmt.Errorf(\"commit: %w\", err))", "\t\tg.unsure = true\n\t\t_, _ = removeFiles(ctx, v.tbl, ch.files)\n\t\tc.suffer(fmt.Errorf(\"commit: %w\", err))"}},
		tests: []suite{committerTests("TestLostAnswerIsFoundOnTheBranch")},
	},
	{
		name: "files are deleted by the entry's base", spec: "DELETE_BY_BASE",
		rule: "files are deleted because the head has left the base that their entry names",
		edits: []edit{{settle, "\tlog := c.log.With(\"entry\", e.Path)\n",
			"\tif e.Group != nil && e.Group.BaseSnapshot != nil && v.hist.Head != nil && *e.Group.BaseSnapshot != *v.hist.Head {\n" +
				"\t\tfor i := range fates {\n\t\t\tif fates[i] == protocol.BatchWait {\n\t\t\t\tfates[i] = protocol.BatchDelete\n\t\t\t}\n\t\t}\n\t}\n\tlog := c.log.With(\"entry\", e.Path)\n"}},
		tests: []suite{committerTests("TestFilesAreNotDeletedBecauseTheHeadHasMoved")},
	},
	{
		name: "files are deleted by another descriptor's range", spec: "DELETE_OTHER_RANGE",
		rule:  "files are deleted by another batch's range",
		edits: []edit{{entry, "batchFate(fates[i], batches[i].Ranges, ", "batchFate(fates[i], batches[0].Ranges, "}},
		tests: []suite{committerTests("TestFilesAreNotDeletedByAnotherBatchsRange")},
	},
	{
		name: "files are deleted without a walk", spec: "DELETE_NO_WALK",
		model: "a person wants rows once more",
		edits: []edit{{entry, "\tcase low(ranges):\n", "\tcase true:\n"}},
		tests: []suite{committerTests("TestFilesAreDeletedByProofAlone")},
	},
	{
		name: "the ack comes before the snapshot", spec: "ACK_EARLY",
		rule:  "records are acked before they are visible",
		edits: []edit{{write, "\tw.queue = append(w.queue, f)\n\tif w.full()", "\tw.queue = append(w.queue, f)\n\tw.r.acks.ack(f.ranges)\n\tif w.full()"}},
		tests: []suite{harnessTests("TestAcksFollowTheTable")},
	},
	// Beyond the list of rules: what else would be dangerous.
	{
		name: "a file is not looked at before an attempt", spec: "NO_STAT",
		edits: []edit{{group, "if c.cfg.Now().Sub(g.lookedAt) >= lookAgain {", "if c.cfg.Now().Sub(g.lookedAt) < 0 {"}},
		tests: []suite{committerTests("TestAFileThatTheStorageLostOrToreIsWrittenAgain")},
	},
	{
		name: "another topology's positions are not carried forward", spec: "NO_CARRY",
		edits: []edit{{try, "val := v.value.clone()", "val := newValue()"}},
		tests: []suite{committerTests("TestTopologiesOfOneTableNeitherLoseNorDouble")},
	},
	{
		name: "what is unclear is not said", spec: "NO_DOUBT",
		rule:  "what another topology must be asked about is not carried on",
		edits: []edit{{try, "\tval.doubt(without(v.found.Doubts, c.cfg.Topology))\n", ""}},
		tests: []suite{committerTests("TestAnAnswerForOneTopologyLeavesTheOthersQuestionOpen")},
	},
	{
		name: "a cherry-pick is not asked about", spec: "NO_PICK_CHECK",
		model: "snapshots are cherry-picked",
		edits: []edit{{find, "case need == 0 && s.CommitID != \"\":", "case need == -1:"}},
		tests: []suite{committerTests("TestWhatAPersonMustDecideStopsTheCommitter")},
	},
	{
		name:  "no property is written",
		edits: []edit{{try, "if summary[keyPositions] == \"\" || c.cfg.NoProperty {", "if summary[keyPositions] != \"never\" {"}},
		tests: []suite{committerTests("TestPositionsSurviveExpiryAndOtherEngines")},
	},
	{
		name:  "a table with another UUID is gone on with",
		edits: []edit{{"committer/view.go", "was != m.TableUUID() {", "was != m.TableUUID() && false {"}},
		tests: []suite{harnessTests("TestTableMadeAgainStops")},
	},
	{
		name:  "finding the commit id vouches for all of the group",
		edits: []edit{{judge, "return len(ranges) == 0 || Judge(at, ranges) == AlreadyThere", "return true"}},
		tests: []suite{committerTests("TestFindingTheCommitIDDoesNotVouchForWhatIsNotThere")},
	},
	{
		name:  "no WAL entry is written",
		edits: []edit{{group, "\t\tc.note(ctx, g, v)\n", "\t\t_ = c.note\n"}},
		tests: []suite{committerTests("TestACrashBetweenNoteAndCommitIsAdopted")},
	},
	{
		name:  "after a re-read later batches of that writer are judged alone",
		edits: []edit{{judge, "if forgotten[b.Owner] || fates[i]", "if fates[i]"}},
		tests: []suite{committerTests("TestAfterARereadEverythingOfThatLifeIsForgotten")},
	},
	// Rejects and their outbox.
	{
		name: "a reject is appended before its main commit", spec: "LEAD",
		edits: []edit{{group, "\ttbl, a, err := c.apply(ctx, v, ch)\n", "\tif b, ok := pack(ch.id, v.hist.Last+1, c.cfg.Now(), ch.rejects); ok {\n" +
			"\t\tif s, err := c.lookShelf(ctx); err == nil {\n\t\t\t_ = c.putOnShelf(ctx, v, s, []boxed{b})\n\t\t}\n\t}\n\ttbl, a, err := c.apply(ctx, v, ch)\n"}},
		tests: []suite{committerTests("TestARejectNeverLeadsItsCommit")},
	},
	{
		name: "nobody looks whether a reject is there", spec: "NO_LOOK",
		edits: []edit{{finish, "\t\theld, err := c.holds(ctx, s, v.uuid, b)\n", "\t\theld, err := protocol.NotThere, error(nil)\n"}},
		tests: []suite{committerTests("TestAnAppendWhoseAnswerWasLostIsNotMadeTwice"), committerTests("TestRejectsAndTheirOutboxWhateverOthersDo")},
	},
	{
		name: "the append of a reject is not pinned", spec: "APPEND_BLIND",
		edits: []edit{{finish, "\tif err := tx.AssertRefSnapshotID(table.MainBranch); err != nil {\n\t\treturn nil, err\n\t}\n", ""}},
		tests: []suite{committerTests("TestTwoFinishersAppendARejectOnce")},
	},
	{
		name: "the outbox is emptied once a request was sent", spec: "TAKE_OFF_UNSEEN",
		edits: []edit{{finish, "\ttbl, err := tx.Commit(ctx)\n\tif err == nil && !showsOnShelf",
			"\tfor _, b := range entries {\n\t\tc.sawThere(b)\n\t}\n\ttbl, err := tx.Commit(ctx)\n\tif err == nil && !showsOnShelf"}},
		tests: []suite{committerTests("TestTheOutboxKeepsWhatWasNotSeen"), committerTests("TestRejectsAndTheirOutboxWhateverOthersDo")},
	},
	{
		name: "a commit forgets the outbox of its base", spec: "NO_CARRY",
		edits: []edit{{try, "\tbox := c.keptOutbox(v)\n", "\tvar box []boxed\n"}},
		tests: []suite{committerTests("TestEveryCommitCarriesTheOutbox"), committerTests("TestRejectsAndTheirOutboxWhateverOthersDo")},
	},
	{
		name: "a search that ends at an expired snapshot is a no", spec: "EXPIRED_IS_NOT_THERE",
		edits: []edit{{shelf, "\t\t\tif h.LogRead {\n\t\t\t\treturn Unclear, 0\n", "\t\t\tif h.LogRead {\n\t\t\t\treturn NotThere, 0\n"}},
		tests: []suite{committerTests("TestASearchThatEndsAtAnExpiredSnapshotIsNoNo"), rejectsModel("a person answers where nothing tells")},
	},
	{
		name:  "a listing says that it is complete when it is not",
		edits: []edit{{shelf, "\treturn max(since, out[most].Sequence+1), out[:most]\n", "\treturn since, out[:most]\n"}},
		tests: []suite{committerTests("TestShelfBytesAndBounds"), rejectsModel("the main branch is set back and forth")},
	},
	{
		name:  "a full outbox takes more",
		edits: []edit{{outbox, "\t\tcase tried:\n\t\t\treturn errOutboxFull\n\t\t}\n", "\t\tcase tried:\n\t\t\treturn nil\n\t\t}\n\t\tif c.pending != nil || tried || n == 0 {\n\t\t\treturn nil\n\t\t}\n"}},
		tests: []suite{committerTests("TestAFullOutboxHoldsTheStream")},
	},
	{
		name:  "positions in doubt take the outbox with them",
		edits: []edit{{"committer/positions_value.go", "unclearEntry(v.topologies[n])", "unclearEntry(nil)"}},
		tests: []suite{committerTests("TestDoubtLeavesTheOutbox")},
	},
	{
		name:  "files of rejects are not looked at before a commit",
		edits: []edit{{outbox, "\tif len(rejects) == 0 {\n\t\treturn gone, nil", "\tif len(rejects) >= 0 {\n\t\treturn gone, nil"}},
		tests: []suite{committerTests("TestARejectsFileThatIsLostBeforeTheCommitIsReadAgain")},
	},
	{
		name:  "files of rejects that an outbox names are deleted",
		edits: []edit{{outbox, "\t\tif namedInOutbox(v.tbl.Metadata(), f.FilePath()) {", "\t\tif namedInOutbox(v.tbl.Metadata(), f.FilePath()) && f.Count() < 0 {"}},
		tests: []suite{committerTests("TestRejectsOfAnAbandonedBatchAreDeletedByProof")},
	},
	{
		name:  "a replay does not look at the outbox",
		edits: []edit{{shelf, "\tif len(boxed) > 0 {\n\t\treturn false\n\t}\n", ""}},
		tests: []suite{committerTests("TestOfTwoReplaysOfAFileOneIsCommitted")},
	},
	{
		name:  "a replay does not look whether its files are live",
		edits: []edit{{shelf, "\t\tif !live(p) {\n", "\t\tif p == \"\" {\n"}},
		tests: []suite{committerTests("TestOfTwoReplaysOfAFileOneIsCommitted")},
	},
	{
		name:  "a replay appends where a file was rewritten",
		edits: []edit{{"committer/replay.go", "\t\tif there[path] == nil {\n\t\t\treturn nil, fmt.Errorf(", "\t\tif there[path] == nil && there != nil {\n\t\t\tcontinue\n\t\t}\n\t\tif there == nil {\n\t\t\treturn nil, fmt.Errorf("}},
		tests: []suite{committerTests("TestAReplayWhoseFileWasRewrittenMeanwhileWaits")},
	},
	{
		name:  "rejects of another table are appended as they are",
		edits: []edit{{finish, "\t\tcase b.Table != s.tbl.Metadata().TableUUID():\n", "\t\tcase b.Table == uuid.Nil:\n"}},
		tests: []suite{committerTests("TestRejectsForATableThatIsGoneAreAskedAbout")},
	},
	{
		name:  "an answer speaks for what the outbox shows",
		edits: []edit{{asks, "\t\tsince = v.hist.Last + 1 //", "\t\tsince = entries[len(entries)-1].Seq + 1 //"}},
		tests: []suite{committerTests("TestAnAnswerKeepsInDoubtWhatIsNotListed")},
	},
	{
		name:  "an answer for another table stays in the outbox",
		edits: []edit{{asks, "\treturn c.takeOff(ctx)\n", "\treturn nil\n"}},
		tests: []suite{committerTests("TestRejectsForATableThatIsGoneAreCopiedOnce")},
	},
	{
		name:  "what a replay has replaced is copied beside it",
		edits: []edit{{asks, "\t\t\tif replaced[f.Path] {\n", "\t\t\tif replaced[f.Path] && f.Rows < 0 {\n"}},
		tests: []suite{committerTests("TestAReplayForATableThatIsGoneIsCopiedWithoutWhatItReplaced")},
	},
}
