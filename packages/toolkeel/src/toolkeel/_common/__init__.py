"""What every chapter uses and none owns: checks at front doors, secrets, addresses, folders, queues.

nearest_names          names that resemble a misspelt one, for "did you mean"
split_words            the words that a text is found by, in one spelling, in any script
word_index             ranking by words (BM25): the weight of a word, and an index of texts
checked_arguments      constructors that check the kinds of their arguments
other_libraries_words  other libraries' words for our options, attributes and names: refused, with ours named
needs_extra            imports of optional packages: where one fails, the error names the install line (extras)
redact_secrets         replaces known secrets in any value, however they are written (which: call/arguments/mask)
path_patterns          which paths match patterns of names, and which hold secrets
postgres_link          connections to PostgreSQL with deadlines, and proxies that share them
prometheus_text        metrics in Prometheus' text format, summed over the processes of one address
public_addresses       the table of network addresses that are not public
package_data           files of the package, from a folder or a zip
data_folder            where data and temporary files are by default, and absolute paths
cancel                 the cancel token, which any thread may set
reporter               what a running call reports: progress, and the values it emits
loop_state             parts of a run's context: what its loop advances, and what holds for inner runs
unread_events          events that wait for a slow reader: which join, which are left out at the limit (back-pressure)
installed                what installed distributions add, and the command that installs the rest
"""
