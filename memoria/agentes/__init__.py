"""The agents' side of the memory: contexts, tools, prompts and graphs, importable with no Django set up.

::

    agente = crear_agente_cliente(crear_modelo(), almacen=almacen, checkpointer=hilos)
    contexto = ContextoCliente(cliente_id="C9", tienda="T1")
    agente.invoke({"messages": [...]}, context=contexto, config=configuracion(contexto, "h1"))
"""

from memoria.agentes.contextos import (
    Contexto,
    ContextoCliente,
    ContextoCompras,
    ContextoEmpleado,
    ContextoIncorrecto,
    configuracion,
)
from memoria.agentes.grafos import crear_agente_cliente, crear_agente_compras, crear_agente_sala
from memoria.agentes.modelo import GuionAgotado, ModeloGuionizado, crear_modelo
from memoria.agentes.prompts import prompt_cliente, prompt_compras, prompt_de, prompt_empleado

__all__ = [
    "Contexto",
    "ContextoCliente",
    "ContextoCompras",
    "ContextoEmpleado",
    "ContextoIncorrecto",
    "GuionAgotado",
    "ModeloGuionizado",
    "configuracion",
    "crear_agente_cliente",
    "crear_agente_compras",
    "crear_agente_sala",
    "crear_modelo",
    "prompt_cliente",
    "prompt_compras",
    "prompt_de",
    "prompt_empleado",
]
