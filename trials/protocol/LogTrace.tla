------------------------------ MODULE LogTrace ------------------------------
(***************************************************************************)
(* Checks that runs of the real code are behaviours of Log.tla.            *)
(*                                                                         *)
(* The module Traces is generated: `Traces` is a sequence of runs, a run   *)
(* is a sequence of events of the simulation, in order. Each event is one  *)
(* action of Log.tla, or a few that only concern one server. TLC follows   *)
(* each run. An event that the model does not allow leaves it without a    *)
(* next state, which TLC reports as a deadlock. The properties of Log.tla  *)
(* are checked in each state.                                              *)
(*                                                                         *)
(* A server is a data directory here. Writes of a server are numbered by   *)
(* the last transaction of the record that holds them.                     *)
(***************************************************************************)
EXTENDS Log, Sequences, TLC, Traces

VARIABLES
  run,    \* number of the run
  at,     \* the next event
  sent,   \* id of a request in the run -> the request in the model
  former  \* all checkpoints so far

traceVars == <<run, at, sent, former>>

TraceInit ==
  /\ Init
  /\ run \in 1..Len(Traces)
  /\ at = 1
  /\ sent = <<>> /\ former = {}

Event == Traces[run][at]

\* All of Log.tla but the server's slot and phase stay.
Moves(s, newPhase, newSlot) ==
  /\ phase' = [phase EXCEPT ![s] = newPhase]
  /\ slot' = [slot EXCEPT ![s] = newSlot]
  /\ UNCHANGED <<bucketVars, what, epoch, dir, has, unsent, handing, lost, restarts, written, acked, diverged>>

Stays == UNCHANGED vars

\* A server that reads takes a record when the run says so. It may have been collected by then, but it was in the log.
ReadEvent(e) ==
  /\ phase[e.s] = "reading" /\ slot[e.s] = e.slot
  /\ history[e.slot] # None /\ history[e.slot].epoch = e.epoch
  /\ Take(e.s, history[e.slot])

\* Has opened a copy from a checkpoint, which may have been collected since. Each copy has a directory of its own.
CopyEvent(e) ==
  /\ phase[e.s] = "down" /\ slot[e.s] = -1
  /\ \E b \in former : b.seq = e.seq /\ CopyOf(e.s, b)

\* A server begins to take over: a former leader has read the log, a follower has applied it.
BeginEvent(e) ==
  IF dir[e.s] = "writer"
  THEN /\ phase[e.s] \in {"down", "reading"}
       /\ \A k \in 0..e.next - 1 : history[k] # None
       /\ Moves(e.s, "reading", e.next)
  ELSE phase[e.s] = "reading" /\ slot[e.s] = e.next /\ Stays

\* A leader stores writes up to a transaction, and sends them.
SendData(s, last) ==
  LET stored == IF last = 0 THEN {} ELSE {<<s, last>>}
      writes == {w \in unsent[s] \cup stored : w[2] <= last}
  IN  /\ phase[s] \in {"leading", "handed"}
      /\ Send(s, Record(s, "data", writes))
      /\ has' = [has EXCEPT ![s] = @ \cup stored]
      /\ unsent' = [unsent EXCEPT ![s] = @ \cup stored]
      /\ handing' = [handing EXCEPT ![s] = FALSE]
      /\ UNCHANGED acked

SendHandover(s) ==
  /\ phase[s] = "leading" /\ unsent[s] = {}
  /\ Send(s, Record(s, "handover", {}))
  /\ handing' = [handing EXCEPT ![s] = TRUE]
  /\ UNCHANGED <<has, unsent, acked>>

SendEvent(e) ==
  /\ slot[e.s] = e.slot
  /\ CASE e.kind = "fence" -> Stand(e.s)
       [] e.kind = "data" -> SendData(e.s, e.last)
       [] OTHER -> SendHandover(e.s)
  /\ sent' = (e.id :> Request(e.s, what'[e.s])) @@ sent

\* The same record again, after the store was busy or the slot was found free.
ResendEvent(e) ==
  /\ phase[e.s] = "awaiting"
  /\ Request(e.s, what[e.s]) \in requests
  /\ sent' = (e.id :> Request(e.s, what[e.s])) @@ sent
  /\ Stays

ApplyEvent(e) ==
  /\ e.created = (log[sent[e.id].slot] = None)
  /\ Apply(sent[e.id])

LookEvent(e) ==
  /\ e.found = (IF log[slot[e.s]] = None THEN "none" ELSE IF log[slot[e.s]] = what[e.s] THEN "own" ELSE "other")
  /\ Look(e.s)

LeadsEvent(e) == slot[e.s] = e.slot /\ Newest < e.slot /\ Check(e.s)
CoveredEvent(e) == slot[e.s] = e.slot /\ Newest >= e.slot /\ Check(e.s)

\* The process ends, or is fenced. An append may have shown that already.
RestartEvent(e) ==
  IF phase[e.s] = "down"
  THEN Stays
  ELSE /\ Restart(e.s)
       /\ UNCHANGED <<log, history, bases, publishing, slot, epoch, dir, has, unsent, lost, written, acked, diverged>>
FencedEvent(e) == IF phase[e.s] = "down" THEN Stays ELSE Notice(e.s)

\* A checkpoint has the state after a record, and own transactions up to `last`, which must be in the log.
PublishEvent(e) ==
  /\ Leads(e.s) /\ epoch[e.s] <= e.seq /\ e.seq < slot[e.s]
  /\ e.last > 0 => \E w \in has[e.s] \ unsent[e.s] : w[1] = e.s /\ w[2] >= e.last
  /\ LET image == {w \in has[e.s] \ unsent[e.s] : w[1] = e.s /\ w[2] <= e.last}
     IN  Publish(e.s, [seq |-> e.seq, has |-> StateAt(e.seq) \cup image])

PublishedEvent(e) ==
  \E p \in publishing : p.base.seq = e.seq /\ ApplyCheckpoint(p)

\* A client was told that the bucket has all transactions of a server up to `last`.
AckEvent(e) == (\E w \in acked : w[1] = e.s /\ w[2] >= e.last) /\ Stays

\* A follower says that it has reached a position: it has the transaction, or a later leader took over before the
\* transaction was in the log, and the follower has read that.
ReachedEvent(e) ==
  /\ \/ \E w \in has[e.s] : w[1] = e.of /\ w[2] >= e.last
     \/ /\ ~\E w \in InLog : w[1] = e.of /\ w[2] >= e.last
        /\ LastFence(slot[e.s] - 1) > e.epoch
  /\ Stays

Step(e) ==
  \/ e.a \in {"send", "resend"} /\ (IF e.a = "send" THEN SendEvent(e) ELSE ResendEvent(e))
  \/ /\ UNCHANGED sent
     /\ CASE e.a = "read" -> ReadEvent(e)
          [] e.a = "copy" -> CopyEvent(e)
          [] e.a = "begin" -> BeginEvent(e)
          [] e.a = "apply" -> ApplyEvent(e)
          [] e.a = "answer" -> Answer(e.s)
          [] e.a = "lose" -> Lose(e.s)
          [] e.a = "look" -> LookEvent(e)
          [] e.a = "leads" -> LeadsEvent(e)
          [] e.a = "covered" -> CoveredEvent(e)
          [] e.a = "restart" -> RestartEvent(e)
          [] e.a = "fenced" -> FencedEvent(e)
          [] e.a = "publish" -> PublishEvent(e)
          [] e.a = "published" -> PublishedEvent(e)
          [] e.a = "collect" -> Collect(e.slot)
          [] e.a = "ack" -> AckEvent(e)
          [] e.a = "reached" -> ReachedEvent(e)
          [] OTHER -> FALSE

TraceNext ==
  IF at > Len(Traces[run])
  THEN UNCHANGED <<vars, traceVars>>
  ELSE /\ Step(Event)
       /\ at' = at + 1
       /\ UNCHANGED run
       /\ former' = former \cup bases'

TraceSpec == TraceInit /\ [][TraceNext]_<<vars, traceVars>>
=============================================================================
