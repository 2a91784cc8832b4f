-------------------------------- MODULE Reads --------------------------------
(***************************************************************************)
(* Reading: positions, strong reads, and the election.                     *)
(*                                                                         *)
(* Records are created at once here; Log.tla has the rest. A server that   *)
(* leads takes writes, which wait in its outbox until its next record. It  *)
(* believes to lead until it finds another's record in its next slot. A    *)
(* follower applies the log record by record.                              *)
(*                                                                         *)
(* A client that writes gets the position of its write. It may ask any     *)
(* server for that position, and any server for a strong read. A read is   *)
(* answered later than it is asked for.                                    *)
(***************************************************************************)
EXTENDS Integers, FiniteSets, Sequences

CONSTANTS
  Servers,
  First,        \* the server that leads at the beginning
  MaxRecords, MaxWrites, MaxReads,
  Patient       \* the servers that never stop, for liveness

\* The precautions. Each can be switched off, and then a property fails.
CONSTANTS
  PositionsHaveFence,   \* a position names the epoch of its write
  CompareOutbox,        \* a later fence counts only if it is another server's: an own restart loses nothing
  PollAfterRequest,     \* a strong read waits for a poll that began after it
  LeaderLooks,          \* a leader reads its next slot before it answers a strong read
  LeaderSends,          \* a leader answers a strong read once the log has what it shows
  AckInLog              \* with ack=bucket a client is answered once the record is in the log

VARIABLES
  log,      \* records: [kind, by, epoch, writes]; a write is [of, number]: its server, and a number that counts on
  role,     \* server -> "follower", "leader"
  epoch,    \* server -> number of its fence as leader
  read,     \* server -> number of records that it has applied as follower
  own,      \* server -> number of its writes
  outbox,   \* server -> own writes that it has not sent
  poll,     \* server -> 0: it does not poll, 1: its poll looks for the end, 2: its poll has met the end
  polled,   \* server -> strong reads that were asked for before its poll began
  acked,    \* writes acknowledged with ack=bucket
  shown,    \* writes that a strong read has shown
  positions, \* positions of clients: [of, number, epoch]
  asked,    \* strong reads in progress: [id, at, looked, needs, sends]; `needs` must be shown, `sends` be sent before
  answers,  \* answers to reads: [kind, right]
  reads     \* number of reads so far

vars == <<log, role, epoch, read, own, outbox, poll, polled, acked, shown, positions, asked, answers, reads>>

Max(numbers) == CHOOSE n \in numbers : \A m \in numbers : m <= n
WritesUpTo(n) == UNION {log[k].writes : k \in 1..n}
InLog == WritesUpTo(Len(log))
LastFence(n) == Max({0} \cup {k \in 1..n : log[k].kind = "fence"})

Init ==
  /\ log = <<[kind |-> "fence", by |-> First, epoch |-> 1, writes |-> {}]>>
  /\ role = [s \in Servers |-> IF s = First THEN "leader" ELSE "follower"]
  /\ epoch = [s \in Servers |-> IF s = First THEN 1 ELSE 0]
  /\ read = [s \in Servers |-> IF s = First THEN 1 ELSE 0]
  /\ own = [s \in Servers |-> 0]
  /\ outbox = [s \in Servers |-> {}]
  /\ poll = [s \in Servers |-> 0]
  /\ polled = [s \in Servers |-> {}]
  /\ acked = {} /\ shown = {} /\ positions = {} /\ asked = {} /\ answers = {} /\ reads = 0

\* What a search on a server shows.
Visible(s) == WritesUpTo(read[s]) \cup (IF role[s] = "leader" THEN outbox[s] ELSE {})

-----------------------------------------------------------------------------
(* Writing and leading *)

\* With ack=local the client has its answer now. In any case it may learn the position.
Write(s) ==
  /\ role[s] = "leader" /\ own[s] < MaxWrites
  /\ own' = [own EXCEPT ![s] = @ + 1]
  /\ LET write == [of |-> s, number |-> own[s] + 1]
     IN  /\ outbox' = [outbox EXCEPT ![s] = @ \cup {write}]
         /\ positions' = positions \cup {[of |-> s, number |-> own[s] + 1, epoch |-> epoch[s]]}
         /\ acked' = IF AckInLog THEN acked ELSE acked \cup {write}
  /\ UNCHANGED <<log, role, epoch, read, poll, polled, shown, asked, answers, reads>>

IsFenced(s) == Len(log) > read[s]

\* A server that changes its role refuses the reads in progress.
Refuse(s) == asked' = {r \in asked : r.at # s}

\* It sends its outbox, or finds that it is fenced: what it has not sent is set aside.
Ship(s) ==
  /\ role[s] = "leader"
  /\ IF IsFenced(s)
     THEN /\ role' = [role EXCEPT ![s] = "follower"]
          /\ outbox' = [outbox EXCEPT ![s] = {}]
          /\ Refuse(s)
          /\ UNCHANGED <<log, read, acked>>
     ELSE /\ outbox[s] # {} /\ Len(log) < MaxRecords
          /\ log' = Append(log, [kind |-> "data", by |-> s, epoch |-> epoch[s], writes |-> outbox[s]])
          /\ read' = [read EXCEPT ![s] = @ + 1]
          /\ acked' = acked \cup outbox[s]
          /\ outbox' = [outbox EXCEPT ![s] = {}]
          /\ UNCHANGED <<role, asked>>
  /\ UNCHANGED <<epoch, own, poll, polled, shown, positions, answers, reads>>

\* A server that has read to the end creates its fence. It may be the former leader itself, after a restart.
Lead(s) ==
  /\ read[s] = Len(log) /\ Len(log) < MaxRecords
  /\ log' = Append(log, [kind |-> "fence", by |-> s, epoch |-> Len(log) + 1, writes |-> {}])
  /\ role' = [role EXCEPT ![s] = "leader"]
  /\ epoch' = [epoch EXCEPT ![s] = Len(log) + 1]
  /\ read' = [read EXCEPT ![s] = @ + 1]
  /\ poll' = [poll EXCEPT ![s] = 0]
  /\ Refuse(s)
  /\ UNCHANGED <<own, outbox, polled, acked, shown, positions, answers, reads>>

-----------------------------------------------------------------------------
(* Following *)

\* A poll may answer the strong reads that were asked for before it began.
BeginPoll(s) ==
  /\ role[s] = "follower" /\ poll[s] = 0
  /\ poll' = [poll EXCEPT ![s] = 1]
  /\ polled' = [polled EXCEPT ![s] = {r.id : r \in {q \in asked : q.at = s}}]
  /\ UNCHANGED <<log, role, epoch, read, own, outbox, acked, shown, positions, asked, answers, reads>>

Apply(s) ==
  /\ role[s] = "follower" /\ poll[s] = 1 /\ read[s] < Len(log)
  /\ read' = [read EXCEPT ![s] = @ + 1]
  /\ UNCHANGED <<log, role, epoch, own, outbox, poll, polled, acked, shown, positions, asked, answers, reads>>

\* The call that found no record. Its answer arrives later.
MeetEnd(s) ==
  /\ role[s] = "follower" /\ poll[s] = 1 /\ read[s] = Len(log)
  /\ poll' = [poll EXCEPT ![s] = 2]
  /\ UNCHANGED <<log, role, epoch, read, own, outbox, polled, acked, shown, positions, asked, answers, reads>>

EndPoll(s) ==
  /\ poll[s] = 2
  /\ poll' = [poll EXCEPT ![s] = 0]
  /\ asked' = {IF r.at = s /\ (r.id \in polled[s] \/ ~PollAfterRequest) THEN [r EXCEPT !.looked = TRUE] ELSE r : r \in asked}
  /\ UNCHANGED <<log, role, epoch, read, own, outbox, polled, acked, shown, positions, answers, reads>>

-----------------------------------------------------------------------------
(* Positions *)

\* Whether a server says that it has reached a position.
Reaches(s, p) ==
  IF role[s] = "leader"
  THEN IF PositionsHaveFence /\ p.epoch > epoch[s] THEN FALSE
       ELSE IF p.of = s THEN p.number <= own[s] ELSE p.epoch < epoch[s]
  ELSE LET fence == LastFence(read[s])
           last == Max({0} \cup {w.number : w \in {v \in WritesUpTo(read[s]) : v.of = p.of}})
       IN  IF fence = 0 THEN FALSE
           ELSE IF PositionsHaveFence /\ fence < p.epoch THEN FALSE
           ELSE \/ last >= p.number
                \/ /\ log[fence].by # p.of \/ ~CompareOutbox
                   /\ fence > p.epoch \/ ~PositionsHaveFence

\* It shows the write, or every server has lost it: another leader took over before it was in the log.
IsHonest(s, p) ==
  LET write == [of |-> p.of, number |-> p.number]
  IN  \/ write \in Visible(s)
      \/ /\ write \notin InLog
         /\ \E k \in 1..read[s] : k > p.epoch /\ log[k].kind = "fence" /\ log[k].by # p.of

Ask(s, p) ==
  /\ reads < MaxReads /\ reads' = reads + 1
  /\ Reaches(s, p)
  /\ answers' = answers \cup {[kind |-> "position", right |-> IsHonest(s, p)]}
  /\ UNCHANGED <<log, role, epoch, read, own, outbox, poll, polled, acked, shown, positions, asked>>

-----------------------------------------------------------------------------
(* Strong reads *)

AskStrong(s) ==
  /\ reads < MaxReads /\ reads' = reads + 1
  /\ asked' = asked \cup {[id |-> reads, at |-> s, looked |-> FALSE, needs |-> acked \cup shown, sends |-> {}]}
  /\ UNCHANGED <<log, role, epoch, read, own, outbox, poll, polled, acked, shown, positions, answers>>

\* A leader finds its next slot free, so no other server has taken over. It shows what it has now.
Look(r) ==
  /\ r \in asked /\ role[r.at] = "leader" /\ ~r.looked
  /\ ~IsFenced(r.at) \/ ~LeaderLooks
  /\ asked' = (asked \ {r}) \cup {[r EXCEPT !.looked = TRUE, !.sends = outbox[r.at]]}
  /\ UNCHANGED <<log, role, epoch, read, own, outbox, poll, polled, acked, shown, positions, answers, reads>>

\* Gives its answer. A leader waits until the log has what it showed when it looked.
Answer(r) ==
  /\ r \in asked /\ r.looked
  /\ LET s == r.at
         isSent == r.sends \cap outbox[s] = {}
         seen == WritesUpTo(read[s]) \cup (IF role[s] = "leader" THEN r.sends ELSE {})
     IN  /\ role[s] = "leader" => isSent \/ ~LeaderSends
         /\ answers' = answers \cup {[kind |-> "strong", right |-> r.needs \subseteq seen]}
         /\ shown' = shown \cup seen
  /\ asked' = asked \ {r}
  /\ UNCHANGED <<log, role, epoch, read, own, outbox, poll, polled, acked, positions, reads>>

-----------------------------------------------------------------------------
Follows(s) == BeginPoll(s) \/ Apply(s) \/ MeetEnd(s) \/ EndPoll(s)

Next ==
  \/ \E s \in Servers :
       \/ Write(s) \/ Ship(s) \/ Lead(s) \/ Follows(s) \/ AskStrong(s)
       \/ \E p \in positions : Ask(s, p)
  \/ \E r \in asked : Look(r) \/ Answer(r)

Spec == Init /\ [][Next]_vars

\* A patient server goes on reading, and stands once it has read to the end.
Stands(s) == role[s] = "follower" /\ Lead(s)
Fairness ==
  \A s \in Patient :
    WF_vars(BeginPoll(s)) /\ WF_vars(Apply(s)) /\ WF_vars(MeetEnd(s)) /\ WF_vars(EndPoll(s)) /\ SF_vars(Stands(s))
FairSpec == Spec /\ Fairness

-----------------------------------------------------------------------------
(* Properties *)

\* No server says that it has reached a position without the write, unless the write is lost on all servers.
PositionsHonest == \A a \in answers : a.kind = "position" => a.right

\* A strong read shows what was acknowledged, and what other strong reads had shown, before it was asked for.
StrongReadsComplete == \A a \in answers : a.kind = "strong" => a.right

\* With ack=bucket nothing is acknowledged that the log lacks.
AckedInLog == acked \subseteq InLog

\* A patient follower leads in the end, whatever the others do, unless they use up the log.
PatientLeads == <>(\A s \in Patient : role[s] = "leader" \/ Len(log) = MaxRecords)
=============================================================================
