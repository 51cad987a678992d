//! The list of all cases, once: as values, and as tests.

use futures_core::future::LocalBoxFuture;

use super::{
    Factory, Failure, attempts, away, behind, bytes, chain, claim, edit, failure::Outcome, fan_out, fault,
    guard, heads, history, hold, issue, job, job_desk, job_trouble, kept_ids, lane, lease, migrate, model,
    order, overview, page, park, patch, payload, query, read, redrive, redrive_order, refused, replay,
    retain, search, settle, status, times, twice, write,
};

/// One promise of a store, and how it is put to the test.
#[derive(Clone, Copy)]
pub struct Case {
    function: &'static str,
    run: for<'a> fn(&'a dyn Factory) -> LocalBoxFuture<'a, Outcome>,
}

impl Case {
    /// Its number and name: `S036 a stale epoch changes nothing`.
    #[must_use]
    pub fn name(&self) -> String {
        let mut name = self.function.replace('_', " ");
        if let Some(first) = name.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        name
    }

    /// Puts the store to this test.
    ///
    /// # Errors
    ///
    /// If the store did other than it promises: the case, and what it did.
    pub async fn run(&self, factory: &dyn Factory) -> Result<(), Failure> {
        (self.run)(factory)
            .await
            .map_err(|failure| failure.of(&self.name()))
    }
}

/// Puts a store to every test, one after the other, and returns all that failed.
pub async fn run(factory: &dyn Factory) -> Vec<Failure> {
    let mut failures = Vec::new();
    for case in cases() {
        failures.extend(case.run(factory).await.err());
    }
    failures
}

/// Runs the case with this name; for [`conformance_tests!`](crate::conformance_tests).
///
/// # Errors
///
/// If the store did other than it promises, or if there is no such case.
pub async fn pass(factory: &dyn Factory, function: &str) -> Result<(), Failure> {
    match cases().iter().find(|case| case.function == function) {
        Some(case) => case.run(factory).await,
        None => Err(Failure::new(format!("there is no case {function}"))),
    }
}

macro_rules! define {
    ($($group:ident { $($case:ident)* })*) => {
        /// Every case, by number.
        #[must_use]
        pub fn cases() -> Vec<Case> {
            let mut cases = vec![$($(Case {
                function: stringify!($case),
                run: |factory| Box::pin($group::$case(factory)),
            },)*)*];
            cases.sort_by_key(|case| case.function);
            cases
        }
    };
}

/// A test for each case of the suite, for the store of this factory.
#[macro_export]
macro_rules! conformance_tests {
    ($factory:expr) => {
        $crate::__conformance_catalogue! { [$crate::conformance_test_each] [$factory] }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! conformance_test_each {
    ([$factory:expr] $($group:ident { $($case:ident)* })*) => {
        $crate::conformance_test_each! { @flat [$factory] $($($case)*)* }
    };
    (@flat [$factory:expr] $($case:ident)*) => {
        $(
            #[tokio::test]
            async fn $case() -> ::std::result::Result<(), $crate::conformance::Failure> {
                $crate::conformance::pass(&$factory, stringify!($case)).await
            }
        )*
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_catalogue {
    ([$($callback:tt)*] $([$($with:tt)*])?) => {
        $($callback)*! {
            $([$($with)*])?
            refused {
                s460_a_refused_verdict_is_told_from_trouble_with_the_database
                s461_a_refused_verdict_stops_no_other_and_no_restart
                s462_rows_beyond_every_limit_reach_an_end_and_stop_nobody
                s463_an_attempt_that_was_counted_and_not_answered_is_known_until_it_is
                s464_what_must_not_arrive_twice_is_not_sent_again_after_a_kill
                s465_a_key_that_is_no_text_is_dead_lettered
            }
            write {
                s001_every_field_comes_back_as_it_was_given
                s002_a_plain_insert_is_a_message
                s003_a_message_that_was_rolled_back_never_was
                s004_a_batch_is_inserted_whole_or_not_at_all
                s005_a_batch_keeps_its_order
                s006_a_deduplication_key_is_taken_once
                s007_a_deduplication_key_in_a_race_is_taken_once
                s008_times_are_counted_on_the_databases_clock
                s009_what_is_too_large_is_refused_by_name
            }
            payload {
                s010_an_empty_payload
                s011_an_empty_binary_payload
                s012_the_largest_payload
                s013_a_payload_with_nul
                s014_a_payload_that_is_no_utf_8
                s015_a_payload_beyond_the_basic_plane
                s016_a_payload_that_looks_like_sql
                s017_names_that_look_alike_are_different
                s018_the_longest_names
                s019_the_longest_error
            }
            claim {
                s020_the_first_claim_finds_every_shard_clean
                s021_a_shard_that_is_owned_is_not_claimed
                s022_claims_at_the_same_time_share_nothing
                s023_a_silent_owner_is_taken_over_from
                s024_a_clean_release_leaves_nothing_behind
                s025_an_unclean_release_tells_the_window
                s026_one_who_left_without_releasing_has_crashed
                s027_a_crash_is_remembered_until_a_clean_end
                s028_a_claim_tells_the_highest_number
                s029_a_claim_tells_which_lanes_are_parked
            }
            lease {
                s030_a_beat_tells_who_is_alive
                s031_a_late_beat_keeps_what_nobody_took
                s032_a_late_beat_does_not_win_back_what_was_taken
                s033_a_release_in_a_past_epoch_changes_nothing
                s034_a_release_of_some_keeps_the_others
                s035_a_worker_that_left_is_gone
                s036_a_stale_epoch_changes_nothing
                s037_a_stale_shard_does_not_hold_up_the_others
                s038_a_lease_that_ended_but_was_not_taken_settles
                s039_takeover_and_settle_at_the_same_time
                s040_a_lease_lasts_as_long_as_it_was_asked_for
            }
            read {
                s041_every_message_is_read_once_in_order
                s042_the_limit_is_over_all_shards_and_loses_nothing
                s043_no_demand_reads_nothing_and_passes_nothing
                s044_a_reader_reads_its_own_shards_only
                s045_a_shard_that_is_owned_anew_is_read_from_its_first_message
                s046_what_waits_is_not_read_and_its_time_is_told
                s047_the_longest_due_come_first
                s048_the_limit_of_what_is_due_holds
                s049_a_postponed_message_comes_at_its_time
                s053_a_redriven_message_is_due_at_once
                s055_a_shard_that_was_read_to_its_end_is_told
            }
            lane {
                s050_a_lane_is_read_on_from_where_it_was_let_go
                s051_a_lane_is_read_without_what_is_scheduled_or_gone
                s052_a_lane_that_an_operator_let_go_on_is_told
                s078_a_lane_goes_on_over_a_gap
                s079_a_parked_lane_stands_still_behind_its_head
                s080_the_heads_delivery_sets_its_lane_free
                s081_a_redriven_head_that_dies_again_parks_its_lane_again
                s054_what_has_no_key_is_read_on_by_destination
                s103_a_discarded_head_lets_its_lane_go_on
                s104_a_lane_is_parked_and_let_go_on_again_and_again
            }
            heads {
                s500_a_read_names_the_first_scheduled_messages_of_a_lane
                s501_due_messages_and_lanes_read_again_come_with_their_heads
                s502_a_head_that_has_ended_is_not_named
                s503_a_deferred_head_waits_for_its_destination
                s504_keys_that_look_alike_are_other_lanes
            }
            order {
                s060_a_late_commit_is_found
                s061_a_long_transaction_holds_nobody_up
                s062_a_late_rollback_leaves_nothing
                s063_a_lanes_order_holds_across_a_late_commit
                s064_late_commits_in_a_shard_that_was_read_by_another_before
                s065_random_writers_and_a_reader
            }
            settle {
                s070_what_was_delivered_is_history
                s071_a_retry_is_scheduled_and_logged
                s072_told_twice_is_written_once
                s073_an_attempt_counted_before_the_send_counts_once
                s074_an_attempt_counted_and_delivered_leaves_no_trace
                s075_a_counted_message_is_still_read
                s076_a_dead_letter_has_its_reason
                s077_a_message_dies_without_an_attempt
                s082_a_named_time_is_kept_exactly
                s083_verdicts_of_all_kinds_in_one_batch
            }
            history {
                s078_a_history_without_payloads_keeps_the_rest
                s079_without_a_history_nothing_is_left_of_what_arrived
            }
            guard {
                s084_a_settle_of_nothing_and_of_nobody
                s085_an_epoch_that_never_was_is_stale
                s086_an_attempt_out_of_turn_changes_nothing
                s087_settles_at_the_same_time_all_succeed_in_the_end
                s088_a_verdict_on_a_former_life_says_nothing_of_this_one
            }
            redrive {
                s090_a_redriven_message_is_the_same_message
                s091_each_life_has_its_own_attempts_in_the_log
                s092_the_oldest_are_redriven_first_and_no_more_than_asked
                s093_only_dead_letters_are_redriven_or_discarded
                s094_a_filter_narrows_a_redrive
                s095_every_act_is_on_record
                s096_a_discarded_letter_stays_to_be_seen
                s100_imported_letters_are_new_dead_letters
                s101_unknown_messages_are_nobody
                s102_redrives_at_the_same_time_take_each_letter_once
                s105_what_was_moved_elsewhere_meanwhile_is_left_alone
            }
            redrive_order {
                s490_messages_redriven_together_come_due_by_number
                s491_messages_discarded_together_have_one_time
                s492_a_settle_that_is_repeated_after_a_discard_pauses_nothing
            }
            edit {
                s097_the_original_outlives_every_edit
                s098_an_edit_changes_what_it_names
                s099_what_is_no_dead_letter_is_not_edited
                s270_an_edit_of_what_was_changed_meanwhile_is_refused
                s298_what_was_seen_is_put_back_or_given_up_once
                s274_what_retention_forgets_does_not_make_an_old_look_a_new_one
            }
            patch {
                s271_a_patch_changes_what_it_was_shown
                s272_a_patch_leaves_alone_what_was_changed_meanwhile
                s273_a_patch_for_too_many_is_refused
            }
            query {
                s110_every_status_is_told_and_filtered_by
                s111_each_filter_narrows
                s112_a_filter_by_the_time_of_the_insert
                s115_the_view_agrees_with_the_desk
                s116_processing_is_due_and_owned
                s117_a_message_tells_what_it_waits_behind
                s118_the_shard_of_a_lane_is_one
                s119_a_filter_by_the_time_of_the_quarantine
            }
            page {
                s113_pages_are_complete_in_both_directions
                s114_pages_repeat_nothing_while_messages_move
            }
            status {
                s120_an_empty_outbox_has_no_figures
                s121_the_figures_add_up
                s122_workers_are_told_with_their_shards
                s123_the_database_is_examined
                s124_what_waits_behind_a_head_waits_too
            }
            retain {
                s130_only_what_is_old_is_forgotten
                s131_much_is_forgotten_in_steps
                s132_what_arrived_late_does_not_keep_the_history_behind_it
            }
            kept_ids {
                s480_a_key_is_kept_while_its_message_can_be_sent
                s481_an_id_in_the_inbox_is_kept_while_its_message_can_be_sent
            }
            migrate {
                s140_a_place_without_tables_says_so
                s141_the_steps_are_taken_once
                s142_down_and_up_again
                s143_migrations_at_the_same_time
                s144_the_layout_is_settled_when_the_tables_are_made
                s145_a_version_that_does_not_exist_is_refused
            }
            fault {
                s150_a_read_after_an_error_returns_what_the_failed_one_would_have
                s151_a_settle_is_whole_or_not_at_all
                s152_a_redrive_is_whole_or_not_at_all
            }
            away {
                s170_what_is_put_away_comes_back_in_its_order
                s171_what_is_put_away_shows_no_time
                s172_what_is_put_away_for_any_other_destination_comes_back
            }
            bytes {
                s442_a_message_that_is_too_large_comes_without_its_payload
                s443_a_read_brings_no_more_bytes_than_it_may
                s444_a_row_is_weighed_as_a_whole
            }
            times {
                s440_a_message_for_the_year_9999_waits_for_it
                s441_strange_times_are_refused_or_wait_or_are_due
            }
            hold {
                s180_a_hold_is_told_with_every_beat
                s181_doing_it_twice_says_so_and_changes_nothing
                s299_a_hold_that_nobody_saw_is_not_ended
                s182_a_relay_holds_unless_somebody_has
                s183_holds_at_the_same_time_are_one
                s184_no_name_is_no_destination
                s185_what_a_worker_tells_of_its_destinations_is_read
            }
            fan_out {
                s190_an_event_becomes_a_message_for_each_destination
                s191_an_event_told_twice_fans_out_once
                s192_a_stale_epoch_fans_nothing_out
                s193_numbers_come_in_the_order_of_events_and_destinations
                s194_an_event_for_nobody_is_history
                s195_only_an_event_fans_out
                s196_a_redriven_event_fans_out_again
                s197_figures_and_filters_know_events
                s198_a_plain_insert_is_an_event
                s199_the_step_keeps_what_is_in_the_tables
            }
            replay {
                s200_each_event_is_replayed_once_in_order
                s201_a_replay_that_ended_in_the_middle_goes_on
                s202_replays_at_the_same_time_make_each_message_once
                s203_what_the_history_has_not_kept_is_told
                s204_the_time_of_the_insert_narrows_a_replay
                s205_old_events_are_forgotten_with_what_they_became
            }
            chain {
                s210_an_untouched_trail_holds
                s211_a_changed_entry_is_found
                s212_a_removed_entry_is_found
                s213_entries_in_another_order_are_found
                s214_an_entry_written_by_hand_is_found
                s215_what_retention_leaves_is_a_chain
                s216_what_is_older_than_the_chain_is_counted
                s217_operators_at_the_same_time_make_one_chain
                s218_without_its_head_nothing_is_proved_and_nothing_done
                s219_an_act_on_many_is_one_piece_of_the_chain
            }
            issue {
                s250_what_failed_alike_is_one_issue
                s251_an_issue_narrows_what_is_done
                s252_an_issue_tells_its_hours
                s253_what_has_no_fingerprint_is_grouped_in_time
                s254_an_edit_and_an_import_have_their_issue
                s255_an_issue_tells_the_lanes_that_stand_still
                s256_the_step_groups_what_is_in_the_tables
            }
            search {
                s260_a_search_finds_what_is_rare
                s261_a_search_without_time_says_where_it_stopped
                s262_a_page_looks_no_further_than_asked
                s263_a_text_is_found_anywhere
                s264_the_named_one_comes_before_those_that_mention_it
                s265_the_nearest_number_is_of_the_tables_that_are_asked
            }
            overview {
                s240_the_pulse_is_the_cheap_half_of_the_figures
                s241_the_sequence_is_the_highest_number
                s242_the_outlook_counts_what_is_scheduled
                s243_lanes_that_stand_are_told
                s244_a_parked_lane_is_not_blocked_as_well
                s245_the_storage_is_told
                s246_the_audit_is_told_in_pages
            }
            park {
                s280_a_lane_is_parked_by_hand_and_goes_on
                s281_only_a_lane_with_something_live_is_parked
                s282_a_new_owner_is_told_of_a_park_by_hand
                s283_what_dies_in_a_parked_lane_does_not_undo_the_park
                s284_a_lane_behind_a_dead_letter_is_let_go_on_by_hand
                s285_a_park_by_hand_outlasts_the_head_that_it_was_laid_over
                s286_a_park_by_hand_is_told_and_counted
                s287_what_was_put_off_in_a_parked_lane_is_due_when_it_goes_on
                s288_a_dead_letter_that_was_moved_elsewhere_leaves_no_gap
                s289_a_lane_goes_on_without_what_was_seen_or_not_at_all
            }
            job {
                s220_a_few_first_then_more_and_more
                s221_it_stops_by_itself_when_too_many_fail
                s222_what_fails_first_may_arrive_later
                s223_a_step_is_taken_by_one_process
                s226_no_letter_is_let_out_twice_and_none_that_came_later
                s227_what_others_do_meanwhile_is_counted_right
                s228_a_job_gives_up_what_matches
                s229_without_a_canary_all_come_in_batches
                s234_what_went_well_for_long_does_not_hide_what_fails_now
            }
            job_desk {
                s224_an_operator_holds_a_job_and_ends_it
                s225_every_message_of_a_job_is_on_record
                s230_a_job_that_makes_no_sense_is_refused
                s231_old_jobs_are_forgotten_with_their_messages
                s232_jobs_and_operators_at_the_same_time
                s233_a_job_that_stopped_goes_on_with_what_is_left
                s235_two_operators_make_one_job
            }
            job_trouble {
                s236_a_step_that_fails_keeps_no_other_job
                s237_a_job_of_a_newer_version_keeps_no_other
                s238_a_step_looks_no_further_than_its_window
            }
            behind {
                s450_a_row_that_appears_behind_the_cursor_is_reported
                s451_all_rows_behind_come_in_turn
                s452_what_may_be_a_late_commit_is_left_to_the_read
                s453_texts_of_a_row_behind_are_cut_and_stay_too_long
            }
            twice {
                s420_a_dead_letter_stands_in_no_ones_way
                s421_an_operator_acts_on_the_letter_that_was_named
                s422_a_letter_outlasts_a_discarded_one
                s423_the_history_takes_a_number_again
                s424_a_lane_is_parked_for_a_number_given_twice
                s429_the_history_removes_no_other_row
            }
            attempts {
                s425_a_number_given_again_has_no_attempts
                s426_an_interruption_is_logged_beside_a_namesakes_attempt
                s427_attempts_stay_as_long_as_their_message
                s428_old_attempts_find_their_message
            }
            model {
                s160_random_histories_agree_with_the_model
            }
        }
    };
}

__conformance_catalogue! { [define] }
