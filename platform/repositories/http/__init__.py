"""Git's smart protocol over HTTP, and a push from its request until its submission is queued.

1. `views.GitView` finds the user of the access token, and what this user may do at the address
   (`accounts.services.use_token`, `repositories.selectors.access_to`). A new repository is created
   (`repositories.services`).
2. `limits.LIMITER` gives the request a permit: one while it waits for its client, and one to start. From then on
   `request_body.Body` cuts off a client that is too slow.
3. A part of the team's push budget is reserved (`repositories.push_budget`). `backend.BackendProcess` starts
   `git http-backend` under the lock of pushes (`repositories.services.push_lock`), with the variables of
   `repositories.git_command` alone. It moves the request into git and the answer out of it.
4. git stores the objects in quarantine and runs its pre-receive hook. `repositories/hooks/forward.py` sends the hook's
   input to the socket of `receive_pack.ReceivePack`, which the thread of the request answers.
5. `receive_pack` lists the refs once (`repositories.git_reader`) and checks the updates (`repositories.ref_rules`) and
   the size.
6. The push gate decides (`submissions.push_gate`): it resolves the commit once, asks who may submit now
   (`submissions.admission`), and reads files and manifest once (`submissions.preflight`, `repositories.file_rules`).
7. `submissions.quota_ledger` reserves a slot that keeps title and licence. Other pushes may have come in between, so
   under the repository's lock it checks once more that the commit is new and a slot is left (`submissions.quota`).
8. git moves objects and refs out of quarantine, and runs its post-receive hook, which asks again.
9. Under the lock, the ledger makes the submission of the slot and wakes a builder. Nothing is read from the repository
   again. If the slot was refunded meanwhile, all checks but those of the content are made again.
10. git ends. What the request holds is given back: its socket, the lock of pushes, its part of the push budget (what it
    cost is charged, accepted or not), its permit and the connection.

A push that breaks off after step 7 leaves a reserved slot. A sweep (`submissions.quota_ledger.settle_reservations`)
makes it a submission if its tag has arrived, and refunds it otherwise.
"""
