//! The calls of MPI, and what a rank does in each.

use super::collectives::Algorithm;
use std::collections::HashMap;
use std::sync::LazyLock;

/// What a call does.
#[derive(Debug, Clone, Copy)]
pub(super) enum Does {
    /// Sends a message, and waits until it may go on.
    Send,
    /// Receives a message.
    Receive,
    /// Begins to send or receive.
    Post { sends: bool },
    /// Sends without waiting for the receiver.
    Buffer,
    /// Sends and receives.
    Exchange,
    /// Describes a message that is sent or received later, perhaps many times.
    Prepare { sends: bool },
    /// Begins to send or receive what was described.
    Start,
    /// Waits until all of these requests have ended.
    Wait,
    /// Ends some requests, and the trace does not name them.
    EndSome,
    /// Gives up a request.
    Forget,
    /// Is done by all ranks of a communicator together.
    Meet(Algorithm),
    /// Waits for a message, which another call receives.
    Look,
    /// Gives up a communicator, and does not communicate.
    Release,
    /// Names a communicator, and does not communicate.
    Name,
}

/// A call with its arguments: `p` a pointer or other value that is ignored, `n` a number of elements or bytes, `i` any
/// number, `d` a datatype, `r` a rank, `t` a tag, `c` a communicator, `q` the address of a request or of a new communicator, `v` an array with a number for each
/// rank.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) name: &'static str,
    pub(super) arguments: &'static str,
    pub(super) does: Does,
}

const fn call(name: &'static str, arguments: &'static str, does: Does) -> Call {
    Call { name, arguments, does }
}

const POST_SEND: Does = Does::Post { sends: true };
const POST_RECEIVE: Does = Does::Post { sends: false };
const PREPARE_SEND: Does = Does::Prepare { sends: true };

/// The calls that communicate.
static CALLS: &[Call] = &[
    call("MPI_Send", "pndrtc", Does::Send),
    call("MPI_Ssend", "pndrtc", Does::Send),
    call("MPI_Rsend", "pndrtc", Does::Send),
    call("MPI_Bsend", "pndrtc", Does::Buffer),
    call("MPI_Recv", "pndrtcp", Does::Receive),
    call("MPI_Isend", "pndrtcq", POST_SEND),
    call("MPI_Issend", "pndrtcq", POST_SEND),
    call("MPI_Irsend", "pndrtcq", POST_SEND),
    call("MPI_Ibsend", "pndrtcq", POST_SEND),
    call("MPI_Irecv", "pndrtcq", POST_RECEIVE),
    call("MPI_Sendrecv", "pndrtpndrtcp", Does::Exchange),
    call("MPI_Sendrecv_replace", "pndrtrtcp", Does::Exchange),
    call("MPI_Send_init", "pndrtcq", PREPARE_SEND),
    call("MPI_Ssend_init", "pndrtcq", PREPARE_SEND),
    call("MPI_Rsend_init", "pndrtcq", PREPARE_SEND),
    call("MPI_Bsend_init", "pndrtcq", PREPARE_SEND),
    call("MPI_Recv_init", "pndrtcq", Does::Prepare { sends: false }),
    call("MPI_Start", "q", Does::Start),
    call("MPI_Startall", "nq", Does::Start),
    call("MPI_Wait", "qp", Does::Wait),
    call("MPI_Waitall", "nqp", Does::Wait),
    call("MPI_Waitany", "nqpp", Does::EndSome),
    call("MPI_Waitsome", "nqppp", Does::EndSome),
    call("MPI_Test", "qpp", Does::EndSome),
    call("MPI_Testall", "nqpp", Does::EndSome),
    call("MPI_Testany", "nqppp", Does::EndSome),
    call("MPI_Testsome", "nqppp", Does::EndSome),
    call("MPI_Request_free", "q", Does::Forget),
    call("MPI_Probe", "pppp", Does::Look),
    call("MPI_Comm_free", "q", Does::Release),
    call("MPI_Comm_rank", "cp", Does::Name),
    call("MPI_Comm_size", "cp", Does::Name),
    call("MPI_Barrier", "c", Does::Meet(Algorithm::Barrier)),
    call("MPI_Bcast", "pndrc", Does::Meet(Algorithm::Broadcast)),
    call("MPI_Reduce", "ppndprc", Does::Meet(Algorithm::Reduce)),
    call("MPI_Allreduce", "ppndpc", Does::Meet(Algorithm::Allreduce)),
    call("MPI_Gather", "pndpndrc", Does::Meet(Algorithm::Gather)),
    call("MPI_Gatherv", "pndpvvdrc", Does::Meet(Algorithm::GatherEach)),
    call("MPI_Scatter", "pndpndrc", Does::Meet(Algorithm::Scatter)),
    call("MPI_Scatterv", "pvvdpndrc", Does::Meet(Algorithm::ScatterEach)),
    call("MPI_Allgather", "pndpndc", Does::Meet(Algorithm::Allgather)),
    call("MPI_Allgatherv", "pndpvvdc", Does::Meet(Algorithm::AllgatherEach)),
    call("MPI_Alltoall", "pndpndc", Does::Meet(Algorithm::Alltoall)),
    call("MPI_Alltoallv", "pvvdpvvdc", Does::Meet(Algorithm::AlltoallEach)),
    call("MPI_Reduce_scatter", "ppvdpc", Does::Meet(Algorithm::ReduceScatter)),
    call("MPI_Scan", "ppndpc", Does::Meet(Algorithm::Scan)),
    call("MPI_Exscan", "ppndpc", Does::Meet(Algorithm::Scan)),
    call("MPI_Comm_dup", "cq", Does::Meet(Algorithm::Create)),
    call("MPI_Comm_create", "cpq", Does::Meet(Algorithm::Create)),
    call("MPI_Comm_split", "ciiq", Does::Meet(Algorithm::Split)),
    call("MPI_Cart_create", "cppppq", Does::Meet(Algorithm::Create)),
    call("MPI_Cart_sub", "cpq", Does::Meet(Algorithm::Create)),
    call("MPI_Graph_create", "cppppq", Does::Meet(Algorithm::Create)),
];

/// Calls that do not communicate. A name that ends in `*` stands for all that begin so.
static LOCAL: &[&str] = &[
    "MPI_Add_error_*",
    "MPI_Address",
    "MPI_Alloc_mem",
    "MPI_Attr_*",
    "MPI_Buffer_attach",
    "MPI_Buffer_detach",
    "MPI_Cart_coords",
    "MPI_Cart_get",
    "MPI_Cart_map",
    "MPI_Cart_rank",
    "MPI_Cart_shift",
    "MPI_Cartdim_get",
    "MPI_Comm_call_errhandler",
    "MPI_Comm_compare",
    "MPI_Comm_create_errhandler",
    "MPI_Comm_create_keyval",
    "MPI_Comm_delete_attr",
    "MPI_Comm_free_keyval",
    "MPI_Comm_get_*",
    "MPI_Comm_group",
    "MPI_Comm_remote_*",
    "MPI_Comm_set_*",
    "MPI_Comm_test_inter",
    "MPI_Dims_create",
    "MPI_Errhandler_*",
    "MPI_Error_*",
    "MPI_Finalized",
    "MPI_Free_mem",
    "MPI_Get_address",
    "MPI_Get_count",
    "MPI_Get_elements",
    "MPI_Get_processor_name",
    "MPI_Get_version",
    "MPI_Graph_get",
    "MPI_Graph_map",
    "MPI_Graph_neighbors*",
    "MPI_Graphdims_get",
    "MPI_Group_*",
    "MPI_Info_*",
    "MPI_Initialized",
    "MPI_Iprobe",
    "MPI_Is_thread_main",
    "MPI_Keyval_*",
    "MPI_Op_*",
    "MPI_Pack*",
    "MPI_Pcontrol",
    "MPI_Query_thread",
    "MPI_Request_get_status",
    "MPI_Status_*",
    "MPI_Test_cancelled",
    "MPI_Topo_test",
    "MPI_Type_*",
    "MPI_Unpack*",
    "MPI_Wtick",
    "MPI_Wtime",
];

/// Returns the call with this name, if it communicates and is known.
pub(super) fn find(name: &str) -> Option<&'static Call> {
    static NAMES: LazyLock<HashMap<&str, &Call>> =
        LazyLock::new(|| CALLS.iter().map(|call| (call.name, call)).collect());
    NAMES.get(name).copied()
}

/// Returns whether a call does not communicate.
pub(super) fn is_local(name: &str) -> bool {
    if let Some(call) = find(name) {
        return matches!(call.does, Does::Release | Does::Name);
    }
    LOCAL.iter().any(|local| match local.strip_suffix('*') {
        Some(begin) => name.starts_with(begin),
        None => *local == name,
    })
}
